import {
  BusError,
  type Clock,
  type DeliveredMessage,
  type Hash,
  type PublishAck,
  type Publisher,
  type Requester,
  type Responder,
  type StreamReader,
  type Traces,
  type WorkConsumer,
} from '@dovetail/core-ports';

import type { BlobManifest } from '../codec/index.js';
import { decodeBlobManifest, encodeBlobManifest } from '../codec/index.js';
import { blobHeader, headersFor, streamHeader } from '../headers.js';
import { limits } from '../limits.js';
import type { Decoded } from '../messages.js';
import { streamName, type StreamRole, subjects } from '../subjects.js';

/**
 * The ports of the bus that contracts speak through. A service adds `StreamAdmin` or
 * `BusConnection` where it needs them.
 */
export type ChannelBus = Publisher & StreamReader & WorkConsumer & Requester & Responder;

/** Everything that reading messages needs. */
export type Reader = { readonly bus: StreamReader; readonly cluster: string; readonly hash: Hash };
/** Everything that writing messages needs: the sender's name and its clock. */
export type Channel = Reader & {
  readonly bus: ChannelBus;
  readonly source: string;
  readonly clock: Clock;
  /** Where spans of traces go. Absent: nothing is traced. */
  readonly traces?: Traces;
};

/** A message before its size is known. */
export type Post = {
  /** The stream that its subject belongs to. */
  readonly stream: StreamRole;
  readonly subject: string;
  readonly type: string;
  readonly payload: Uint8Array;
  readonly messageId: string;
  readonly expectLastSubjectSequence?: number;
  readonly ttlMs?: number;
  readonly traceparent?: string;
  readonly about?: string;
};

/** One character per byte. Services are pure code and have no Buffer. */
function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4_096)
    text += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return text;
}

/** The id of these bytes: the SHA-256 of their content, in hex. */
export const contentId = (hash: Hash, bytes: Uint8Array): string => hash.sha256Hex(latin1(bytes));

/**
 * Publishes with CloudEvents headers. A payload over `limits.messageBytesMax` is published in parts
 * first and replaced by its manifest, so a reader that sees the manifest can collect the parts.
 * Rejects with BusError.
 */
export async function post(channel: Channel, message: Post): Promise<PublishAck> {
  const { stream, subject, type, payload, messageId, traceparent, about, ...expectations } =
    message;
  const envelope = headersFor({
    id: messageId,
    source: { cluster: channel.cluster, service: channel.source },
    type,
    ...(about === undefined ? {} : { subject: about }),
    timeMs: channel.clock.nowMs(),
    ...(traceparent === undefined ? {} : { traceparent }),
  });
  const headers = { ...envelope, [streamHeader]: streamName(channel.cluster, stream) };
  if (payload.length <= limits.messageBytesMax)
    return channel.bus.publish({ subject, payload, headers, messageId, ...expectations });
  const manifest = await postBlob(channel, payload);
  return channel.bus.publish({
    subject,
    payload: encodeBlobManifest(manifest),
    headers: { ...headers, [blobHeader]: 'blob' },
    messageId,
    ...expectations,
  });
}

/**
 * Publishes bytes in parts. Subjects follow from the content, so publishing twice changes nothing.
 * Rejects with BusError.
 */
export async function postBlob(channel: Channel, bytes: Uint8Array): Promise<BlobManifest> {
  const parts = Math.ceil(bytes.length / limits.messageBytesMax);
  if (parts > limits.blobPartsMax)
    throw new BusError(
      'too-large',
      `${String(bytes.length)} bytes are more than ${String(limits.blobPartsMax)} parts of ${String(limits.messageBytesMax)}`,
    );
  const id = contentId(channel.hash, bytes);
  const headers = { [streamHeader]: streamName(channel.cluster, 'blobs') };
  for (let part = 0; part < parts; part += 1) {
    const payload = bytes.subarray(
      part * limits.messageBytesMax,
      (part + 1) * limits.messageBytesMax,
    );
    const subject = subjects.blobPart(channel.cluster, id, part);
    await channel.bus.publish({ subject, payload, headers });
  }
  return { id, parts, bytes: bytes.length };
}

/**
 * Collects the parts of a blob and checks them against its manifest. Rejects with BusError when the
 * bus fails.
 */
export async function collectBlob(
  reader: Reader,
  manifest: BlobManifest,
): Promise<Decoded<Uint8Array>> {
  const { id, parts, bytes } = manifest;
  const sizeMax = parts * limits.messageBytesMax;
  if (parts > limits.blobPartsMax || bytes > sizeMax)
    return {
      ok: false,
      field: 'blob.parts',
      reason: `${String(parts)} parts and ${String(bytes)} bytes are over the limit`,
    };
  const whole = new Uint8Array(bytes);
  let filled = 0;
  for (let part = 0; part < parts; part += 1) {
    const found = await reader.bus.lastMessage(
      streamName(reader.cluster, 'blobs'),
      subjects.blobPart(reader.cluster, id, part),
    );
    if (found === undefined)
      return {
        ok: false,
        field: 'blob.parts',
        reason: `part ${String(part)} of ${String(parts)} of ${id} is missing or has expired`,
      };
    if (filled + found.payload.length > bytes)
      return {
        ok: false,
        field: 'blob.bytes',
        reason: `the parts of ${id} hold more than ${String(bytes)} bytes`,
      };
    whole.set(found.payload, filled);
    filled += found.payload.length;
  }
  if (filled !== bytes || contentId(reader.hash, whole) !== id)
    return { ok: false, field: 'blob.id', reason: `the parts of ${id} are not its content` };
  return { ok: true, value: whole };
}

/**
 * Why a message counts as none of its stream. Undefined: a client published it there. A copy that
 * NATS made for someone, or an answer of NATS, says nothing with the right of its sender.
 */
export function strayFault(
  { cluster }: { readonly cluster: string },
  role: StreamRole,
  { headers }: Pick<DeliveredMessage, 'headers'>,
): { readonly field: string; readonly reason: string } | undefined {
  const [stream, named] = [streamName(cluster, role), headers[streamHeader]];
  return named === stream
    ? undefined
    : {
        field: streamHeader,
        reason: `it is ${named ?? 'not there'} and must be ${stream}: nobody published this message into that stream`,
      };
}

/** A message's own bytes: its payload, or the blob that its manifest names. */
export async function payloadOf(
  reader: Reader,
  message: DeliveredMessage,
): Promise<Decoded<Uint8Array>> {
  if (message.headers[blobHeader] !== 'blob') return { ok: true, value: message.payload };
  const manifest = decodeBlobManifest(message.payload);
  return manifest.ok ? collectBlob(reader, manifest.value) : manifest;
}
