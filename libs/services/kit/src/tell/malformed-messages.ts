import type { MalformedMessage } from '@dovetail/contracts';
import type { Log, Metrics } from '@dovetail/core-ports';

/**
 * Logs (`message-malformed`) and counts a message of a followed stream that could not be read. The
 * metric's label `message` is the stream that the subject names: `state` or `catalog`.
 */
export function reportMalformed(
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  { subject, field, reason }: MalformedMessage,
): void {
  log.warn('message-malformed', `${subject}: ${field}: ${reason}`, { subject, field });
  countMalformed(metrics, { message: subject.split('.')[2] ?? '', field });
}

/** Counts a message that could not be read, by what it is and by its field. */
export const countMalformed = (
  metrics: Metrics,
  labels: { readonly message: string; readonly field: string },
): void => metrics.count('dovetail_malformed_messages_total', labels);
