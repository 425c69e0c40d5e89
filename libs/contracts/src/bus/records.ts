import { BusError, type Packing, type PublishAck } from '@dovetail/core-ports';
import {
  partsOfRecord,
  readRecord,
  type Recorded,
  type RecordPart,
} from '@dovetail/core-scheduling';

import {
  decodePlanRecord,
  decodeRecordPart,
  encodePlanRecord,
  encodeRecordPart,
} from '../codec/index.js';
import { limits } from '../limits.js';
import type { Decoded, PlanRecord } from '../messages.js';
import { streamName, subjects } from '../subjects.js';
import { type Channel, type Post, post, type Reader } from './channel.js';

/**
 * Keeps a part of a record. A part that is kept already is kept for longer. Rejects with BusError.
 */
export const publishRecordPart = (
  channel: Channel,
  { id, text }: RecordPart,
  packing: Packing,
): Promise<PublishAck> =>
  publish(channel, {
    subject: subjects.recordPart(channel.cluster, id),
    stream: 'records',
    type: 'RecordPart',
    payload: encodeRecordPart({ id, packed: packing.pack(text) }),
    messageId: `record-part/${id}`,
  });

/** Keeps a record, whose parts must be kept before. Rejects with BusError. */
export const publishPlanRecord = (channel: Channel, record: PlanRecord): Promise<PublishAck> =>
  publish(channel, {
    subject: subjects.planRecord(channel.cluster, record.id),
    stream: 'records',
    type: 'PlanRecord',
    payload: encodePlanRecord(record),
    messageId: `record/${record.id}/${String(record.createdMs)}`,
  });

/** A message over the limit would travel in parts that are gone after some minutes. */
async function publish(channel: Channel, message: Post): Promise<PublishAck> {
  const { length } = message.payload;
  if (length > limits.messageBytesMax)
    throw new BusError(
      'too-large',
      `a record of ${String(length)} bytes is more than the ${String(limits.messageBytesMax)} of one message`,
    );
  return post(channel, message);
}

/** A plan's record, with what its parts hold. */
export type ReadRecord = { readonly record: PlanRecord; readonly recorded: Recorded };

/**
 * Reads the record of a plan and all its parts. Undefined: none is kept. Rejects with BusError when
 * the bus fails.
 */
export async function readPlanRecord(
  reader: Reader,
  planId: string,
  packing: Packing,
): Promise<Decoded<ReadRecord> | undefined> {
  const stream = streamName(reader.cluster, 'records');
  const subject = subjects.planRecord(reader.cluster, planId);
  const message = await reader.bus.lastMessage(stream, subject);
  if (message === undefined) return undefined;
  const record = decodePlanRecord(message.payload);
  if (!record.ok) return record;
  const ids = partsOfRecord(record.value.input);
  if (ids === undefined)
    return { ok: false, field: 'input', reason: 'another release has written it in its own form' };
  const texts = await partTexts(reader, ids, packing);
  const recorded = readRecord(record.value.input, (id) => texts.get(id));
  if (recorded !== undefined) return { ok: true, value: { record: record.value, recorded } };
  const missing = ids.length - texts.size;
  const reason = `${String(missing)} of its ${String(ids.length)} parts are not kept any more`;
  return { ok: false, field: 'input', reason };
}

/** As many reads at once. A record of thousands of nodes has hundreds of parts. */
const atOnce = 32;

async function partTexts(
  { bus, cluster }: Reader,
  ids: readonly string[],
  packing: Packing,
): Promise<ReadonlyMap<string, string>> {
  const stream = streamName(cluster, 'records');
  const texts = new Map<string, string>();
  for (let from = 0; from < ids.length; from += atOnce)
    await Promise.all(
      ids.slice(from, from + atOnce).map(async (id) => {
        const found = await bus.lastMessage(stream, subjects.recordPart(cluster, id));
        const text = found === undefined ? undefined : textOf(found.payload, id, packing);
        if (text !== undefined) texts.set(id, text);
      }),
    );
  return texts;
}

/** The text of a part; undefined for bytes that are not this part. */
function textOf(payload: Uint8Array, id: string, packing: Packing): string | undefined {
  const part = decodeRecordPart(payload);
  if (!part.ok || part.value.id !== id) return undefined;
  try {
    return packing.unpack(part.value.packed);
  } catch {
    return undefined;
  }
}
