import type { DeliveredMessage, Headers, PublishAck, Publisher } from '@dovetail/core-ports';

import { streamHeader } from '../headers.js';
import { streamName, subjects } from '../subjects.js';

/** The headers that a dead letter has beside those of the decision itself. */
export const deadLetterHeaders = {
  sink: 'dovetail-sink',
  reason: 'dovetail-reason',
  attempts: 'dovetail-attempts',
  sequence: 'dovetail-sequence',
} as const;

/** A decision that a sink could not deliver. */
export type DeadLetter = {
  readonly sink: string;
  /** The message as the stream of decisions holds it. */
  readonly message: DeliveredMessage;
  /** One sentence: what the receiver answered, or why the decision cannot be read. */
  readonly reason: string;
  /** How often the sink has tried. 0: it could not be tried at all. */
  readonly attempts: number;
};

/** A reason may hold a part of what a receiver answered, which may be long. */
const reasonLengthMax = 500;

/**
 * Keeps a decision that could not be delivered: the same bytes under the same CloudEvents headers,
 * with the sink, the reason and the count beside them. Rejects with BusError.
 */
export function publishDeadLetter(
  { bus, cluster }: { readonly bus: Publisher; readonly cluster: string },
  { sink, message, reason, attempts }: DeadLetter,
): Promise<PublishAck> {
  const { subject, payload, sequence } = message;
  const headers: Headers = {
    ...ownHeaders(message.headers),
    [streamHeader]: streamName(cluster, 'deadletters'),
    [deadLetterHeaders.sink]: sink,
    [deadLetterHeaders.reason]: headerText(reason),
    [deadLetterHeaders.attempts]: String(attempts),
    [deadLetterHeaders.sequence]: String(sequence),
  };
  return bus.publish({
    subject: subjects.deadLetter(cluster, sink, subject.split('.')[4] ?? '-'),
    payload,
    headers,
    messageId: `deadletter/${sink}/${String(sequence)}/${message.headers['ce-id'] ?? ''}`,
  });
}

/** Without the headers by which the first publish told the bus its conditions. */
const ownHeaders = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !/^nats-/i.test(name)));

/** Header values are printable ASCII in one line. */
const headerText = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, reasonLengthMax);
