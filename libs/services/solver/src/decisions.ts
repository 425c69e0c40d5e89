import type { DeliveredMessage } from '@dovetail/core-ports';
import type { Reason } from '@dovetail/core-scheduling';
import type { NewDecision } from '@dovetail/service-kit';

/**
 * A batch that ends without a plan: unreadable, or failed too often. Its id follows from the
 * message, so a batch that is delivered again is told once.
 */
export function decisionOfUnreadable(
  { subject, sequence, timeMs }: Pick<DeliveredMessage, 'subject' | 'sequence' | 'timeMs'>,
  wrong: { readonly field: string; readonly reason: string },
): NewDecision {
  const reason: Reason = {
    code: 'unreadable',
    message: `${wrong.field}: ${wrong.reason}`,
    values: { field: wrong.field, subject },
  };
  return {
    id: `unplanned/${subject}/${String(sequence)}/${String(timeMs)}`,
    kind: 'unschedulable',
    summary: `a batch ended without a plan: ${wrong.field}: ${wrong.reason}`,
    reasons: [reason],
    facts: { subject },
  };
}
