import type { DeliveredMessage, FollowEvent } from '@dovetail/core-ports';

/** A message as JSON. Its payload is bytes, so it goes as base64. */
type MessageJson = Omit<DeliveredMessage, 'payload'> & { readonly payload: string };

/** The last message of a subject. Absent: the stream keeps none. */
export type LastAnswer = { readonly message?: MessageJson };

type Line =
  | Exclude<FollowEvent, { kind: 'message' }>
  | { readonly kind: 'message'; readonly message: MessageJson };

/** A message for another process. */
export const messageJson = (message: DeliveredMessage): MessageJson => ({
  ...message,
  payload: Buffer.from(message.payload).toString('base64'),
});

/** The message of another process. */
export const messageOfJson = (json: MessageJson): DeliveredMessage => ({
  ...json,
  payload: new Uint8Array(Buffer.from(json.payload, 'base64')),
});

/** One event of a follower as a line of JSON. */
export function lineOf(event: FollowEvent): string {
  const line: Line =
    event.kind === 'message' ? { kind: 'message', message: messageJson(event.message) } : event;
  return `${JSON.stringify(line)}\n`;
}

/** Reads one line of a followed stream. */
export function eventOf(text: string): FollowEvent {
  const line = JSON.parse(text) as Line;
  return line.kind === 'message' ? { kind: 'message', message: messageOfJson(line.message) } : line;
}
