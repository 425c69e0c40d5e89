import type { DeliveredMessage, FollowEvent } from '@dovetail/core-ports';

type Line =
  | Exclude<FollowEvent, { kind: 'message' }>
  | {
      readonly kind: 'message';
      readonly message: Omit<DeliveredMessage, 'payload'> & { readonly payload: string };
    };

/** One event of a follower as a line of JSON; payloads are bytes, so they go as base64. */
export function lineOf(event: FollowEvent): string {
  const line: Line =
    event.kind === 'message'
      ? {
          kind: 'message',
          message: {
            ...event.message,
            payload: Buffer.from(event.message.payload).toString('base64'),
          },
        }
      : event;
  return `${JSON.stringify(line)}\n`;
}

/** Reads one line of a followed stream. */
export function eventOf(text: string): FollowEvent {
  const line = JSON.parse(text) as Line;
  return line.kind === 'message'
    ? {
        kind: 'message',
        message: {
          ...line.message,
          payload: new Uint8Array(Buffer.from(line.message.payload, 'base64')),
        },
      }
    : line;
}
