import type { DeliveredMessage, Headers } from '@dovetail/core-ports';
import { headers as newHeaders, type Msg, type MsgHdrs } from '@nats-io/transport-node';

/** What JetStream's ack subject says of a delivery. */
export type Delivery = { readonly deliveries: number; readonly streamSequence: number; readonly consumerSequence: number; readonly timeMs: number; readonly pending: number };

/** `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<nanoseconds>.<pending>`, newer servers with domain and account before the stream. */
export function deliveryOf(reply: string | undefined): Delivery | undefined {
  const tokens = reply?.split('.') ?? [];
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return undefined;
  const [deliveries, streamSequence, consumerSequence, nanoseconds, pending] = tokens.slice(tokens.length === 9 ? 4 : 6);
  const timeMs = Math.floor(Number(nanoseconds) / 1_000_000);
  return { deliveries: Number(deliveries), streamSequence: Number(streamSequence), consumerSequence: Number(consumerSequence), timeMs, pending: Number(pending) };
}

export function headersOf(from: MsgHdrs | undefined): Headers {
  if (from === undefined) return {};
  return Object.fromEntries(from.keys().map((key) => [key, from.last(key)]));
}

export function natsHeaders(from: Headers): MsgHdrs {
  const made = newHeaders();
  for (const [key, value] of Object.entries(from)) made.set(key, value);
  return made;
}

export const delivered = (message: Msg, delivery: Delivery): DeliveredMessage => ({
  subject: message.subject, payload: message.data, headers: headersOf(message.headers), sequence: delivery.streamSequence, timeMs: delivery.timeMs,
});
