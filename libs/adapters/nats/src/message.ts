import type { DeliveredMessage, Headers } from '@dovetail/core-ports';
import { headers as newHeaders, type Msg, type MsgHdrs } from '@nats-io/transport-node';

/** The facts of a delivery that JetStream's ack subject holds. */
export type Delivery = {
  readonly deliveries: number;
  readonly streamSequence: number;
  readonly consumerSequence: number;
  readonly timeMs: number;
  readonly pending: number;
};

/**
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<nanoseconds>.<pending>`.
 * Newer servers put domain and account before the stream.
 */
export function deliveryOf(reply: string | undefined): Delivery | undefined {
  const tokens = reply?.split('.') ?? [];
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return undefined;
  const [deliveries, streamSequence, consumerSequence, nanoseconds, pending] = tokens.slice(
    tokens.length === 9 ? 4 : 6,
  );
  const timeMs = Math.floor(Number(nanoseconds) / 1_000_000);
  return {
    deliveries: Number(deliveries),
    streamSequence: Number(streamSequence),
    consumerSequence: Number(consumerSequence),
    timeMs,
    pending: Number(pending),
  };
}

/** The client library's headers as a record. Of several values the last counts. */
export function headersOf(from: MsgHdrs | undefined): Headers {
  if (from === undefined) return {};
  return Object.fromEntries(from.keys().map((key) => [key, from.last(key)]));
}

/** A record as the client library's headers. */
export function natsHeaders(from: Headers): MsgHdrs {
  const made = newHeaders();
  for (const [key, value] of Object.entries(from)) made.set(key, value);
  return made;
}

/**
 * The same bytes as a Buffer. protobufjs reads strings of a Buffer natively. Of another array it
 * adds them up from short pieces, which take several times the memory for as long as they live.
 */
export const payloadOf = (data: Uint8Array): Buffer =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** The message of a delivery, with its sequence and time in the stream. */
export const delivered = (message: Msg, delivery: Delivery): DeliveredMessage => ({
  subject: message.subject,
  payload: payloadOf(message.data),
  headers: headersOf(message.headers),
  sequence: delivery.streamSequence,
  timeMs: delivery.timeMs,
});
