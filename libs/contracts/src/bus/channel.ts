import { type Bus, BusError, type Clock, type DeliveredMessage, type Hash, type PublishAck } from '@dovetail/core-ports';
import { decodeBlobManifest, encodeBlobManifest } from '../codec/index.js';
import { blobHeader, headersFor } from '../headers.js';
import { limits } from '../limits.js';
import type { BlobManifest } from '../codec/index.js';
import type { Decoded } from '../messages.js';
import { streamName, subjects } from '../subjects.js';

/** What reading needs. */
export type Reader = { readonly bus: Bus; readonly cluster: string; readonly hash: Hash };
/** What writing needs: who says it, and when. */
export type Channel = Reader & { readonly source: string; readonly clock: Clock };

/** One message on its way, before it is known whether it fits. */
export type Post = {
  readonly subject: string;
  readonly type: string;
  readonly payload: Uint8Array;
  readonly messageId: string;
  readonly expectLastSubjectSequence?: number;
  readonly ttlMs?: number;
  readonly traceparent?: string;
};

/** One character a byte: services are pure code, which has no Buffer. */
function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4_096) text += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return text;
}

/** Identifies bytes by their content. */
export const contentId = (hash: Hash, bytes: Uint8Array): string => hash.sha256Hex(latin1(bytes));

/**
 * Publishes with CloudEvents headers. What is larger than a message may be is put into parts first, and its manifest goes out in
 * its place: a reader that sees the manifest can have the parts. Rejects with BusError.
 */
export async function post(channel: Channel, message: Post): Promise<PublishAck> {
  const { subject, type, payload, messageId, traceparent, ...expectations } = message;
  const headers = headersFor({ id: messageId, source: channel.source, type, timeMs: channel.clock.nowMs(), ...(traceparent === undefined ? {} : { traceparent }) });
  if (payload.length <= limits.messageBytesMax) return channel.bus.publish({ subject, payload, headers, messageId, ...expectations });
  const manifest = await postBlob(channel, payload);
  return channel.bus.publish({ subject, payload: encodeBlobManifest(manifest), headers: { ...headers, [blobHeader]: 'blob' }, messageId, ...expectations });
}

/** Puts bytes into parts. The parts' subjects follow from the content: doing it twice changes nothing. */
export async function postBlob(channel: Channel, bytes: Uint8Array): Promise<BlobManifest> {
  const parts = Math.ceil(bytes.length / limits.messageBytesMax);
  if (parts > limits.blobPartsMax) throw new BusError('too-large', `${String(bytes.length)} bytes are more than ${String(limits.blobPartsMax)} parts of ${String(limits.messageBytesMax)}`);
  const id = contentId(channel.hash, bytes);
  for (let part = 0; part < parts; part += 1) {
    const payload = bytes.subarray(part * limits.messageBytesMax, (part + 1) * limits.messageBytesMax);
    await channel.bus.publish({ subject: subjects.blobPart(channel.cluster, id, part), payload });
  }
  return { id, parts, bytes: bytes.length };
}

/** Collects the parts of a blob and checks them against its manifest. Rejects with BusError when the bus fails. */
export async function collectBlob(reader: Reader, manifest: BlobManifest): Promise<Decoded<Uint8Array>> {
  const { id, parts, bytes } = manifest;
  const sizeMax = parts * limits.messageBytesMax;
  if (parts > limits.blobPartsMax || bytes > sizeMax) return { ok: false, field: 'blob.parts', reason: `${String(parts)} parts and ${String(bytes)} bytes are over the limit` };
  const whole = new Uint8Array(bytes);
  let filled = 0;
  for (let part = 0; part < parts; part += 1) {
    const found = await reader.bus.lastMessage(streamName(reader.cluster, 'blobs'), subjects.blobPart(reader.cluster, id, part));
    if (found === undefined) return { ok: false, field: 'blob.parts', reason: `part ${String(part)} of ${String(parts)} of ${id} is not there (any more)` };
    if (filled + found.payload.length > bytes) return { ok: false, field: 'blob.bytes', reason: `the parts of ${id} hold more than ${String(bytes)} bytes` };
    whole.set(found.payload, filled);
    filled += found.payload.length;
  }
  if (filled !== bytes || contentId(reader.hash, whole) !== id) return { ok: false, field: 'blob.id', reason: `the parts of ${id} are not its content` };
  return { ok: true, value: whole };
}

/** A message's own bytes: its payload, or the blob that its manifest names. */
export async function payloadOf(reader: Reader, message: DeliveredMessage): Promise<Decoded<Uint8Array>> {
  if (message.headers[blobHeader] !== 'blob') return { ok: true, value: message.payload };
  const manifest = decodeBlobManifest(message.payload);
  return manifest.ok ? collectBlob(reader, manifest.value) : manifest;
}
