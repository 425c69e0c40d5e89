import type { InstanceType } from '@dovetail/core-ec2-model';
import {
  type Clock,
  type DeliveredMessage,
  neverStopping,
  type PublishAck,
  type StopSignal,
  type StreamPosition,
} from '@dovetail/core-ports';

import {
  decodeClassCatalog,
  decodeUnavailableOffering,
  encodeClassCatalog,
  encodeUnavailableOffering,
} from '../codec/index.js';
import { limits } from '../limits.js';
import type { ClassCatalog, UnavailableOffering } from '../messages.js';
import { streamName, subjects } from '../subjects.js';
import { type Channel, post, strayFault } from './channel.js';
import type { MalformedMessage } from './state.js';

/** How long encoding goes on without a pause, in milliseconds: as the loops of the services do. */
const turnMs = 50;
/** The types of a part before its size is measured. Encoding as many takes milliseconds. */
const partTypesMax = 128;

/**
 * Cuts a class's instance types into parts of a small size, in order. There is at least one part,
 * which may be empty. A part that is too large is halved, unless it is a single type.
 */
async function catalogParts(
  clock: Clock,
  catalog: Pick<ClassCatalog, 'classUid' | 'revision' | 'instanceTypes'>,
): Promise<readonly ClassCatalog[]> {
  const { classUid, revision, instanceTypes } = catalog;
  const partOf = (types: readonly InstanceType[]): ClassCatalog => ({
    ...{ classUid, revision, part: 0xffff, parts: 0xffff },
    instanceTypes: types,
  });
  const waiting: (readonly InstanceType[])[] = [];
  for (let from = 0; from < Math.max(1, instanceTypes.length); from += partTypesMax)
    waiting.push(instanceTypes.slice(from, from + partTypesMax));
  const parts: ClassCatalog[] = [];
  let sinceMs = clock.nowMs();
  for (let types = waiting.shift(); types !== undefined; types = waiting.shift()) {
    const part = partOf(types);
    const isSmall = encodeClassCatalog(part).length <= limits.catalogPartBytesMax;
    const half = Math.ceil(types.length / 2);
    if (isSmall || types.length <= 1) parts.push(part);
    else waiting.unshift(types.slice(0, half), types.slice(half));
    if (clock.nowMs() - sinceMs < turnMs) continue;
    await clock.sleep(1, neverStopping);
    sinceMs = clock.nowMs();
  }
  return parts.map((part, index) => ({ ...part, part: index, parts: parts.length }));
}

/**
 * Publishes the instance types that a node class can boot. Readers use a revision once all of its
 * parts have arrived. Each publish needs a new `generation`; otherwise the bus would discard a
 * republish as a duplicate. `stored` are the parts that the stream holds; those that the new
 * revision does not need are dropped from it first.
 */
export async function publishClassCatalog(
  channel: Channel,
  catalog: Pick<ClassCatalog, 'classUid' | 'revision' | 'instanceTypes'>,
  options: { readonly generation: string; readonly stored?: Iterable<number> },
): Promise<void> {
  const parts = await catalogParts(channel.clock, catalog);
  const surplus = [...(options.stored ?? [])].filter((part) => part >= parts.length);
  await dropCatalogParts(channel, catalog.classUid, surplus, options);
  for (const part of parts) {
    await post(channel, {
      subject: subjects.classCatalog(channel.cluster, part.classUid, part.part),
      stream: 'catalog',
      type: 'ClassCatalog',
      payload: encodeClassCatalog(part),
      messageId: `catalog/${part.classUid}/${part.revision}/${String(part.part)}/${options.generation}`,
    });
  }
}

/**
 * Drops parts of a class's catalog from the stream. Each gets a tombstone, which the stream deletes
 * after a while. The tombstone of part 0 says that the class is gone.
 */
export async function dropCatalogParts(
  channel: Channel,
  classUid: string,
  parts: readonly number[],
  options: { readonly generation: string },
): Promise<void> {
  for (const part of parts) {
    await post(channel, {
      subject: subjects.classCatalog(channel.cluster, classUid, part),
      stream: 'catalog',
      type: 'ClassCatalog',
      payload: encodeClassCatalog({
        classUid,
        revision: 'gone',
        part,
        parts: 0,
        instanceTypes: [],
      }),
      messageId: `catalog/${classUid}/gone/${String(part)}/${options.generation}`,
      ttlMs: limits.tombstoneMs,
    });
  }
}

/**
 * Publishes that an offering is to be avoided until `untilMs`. The stream drops the message a
 * minute later.
 */
export const publishUnavailable = (
  channel: Channel,
  offering: UnavailableOffering,
  options: { readonly generation: string },
): Promise<PublishAck> =>
  post(channel, {
    subject: subjects.unavailable(channel.cluster, offering),
    stream: 'catalog',
    type: 'UnavailableOffering',
    payload: encodeUnavailableOffering(offering),
    messageId: `unavailable/${offering.instanceType}/${offering.zone}/${offering.capacityType}/${String(offering.untilMs)}/${options.generation}`,
    ttlMs: Math.max(1_000, offering.untilMs - channel.clock.nowMs() + limits.workAgeMs),
  });

/**
 * A change of the catalog. `caught-up` follows the first complete reading and every one after a
 * `reset`.
 */
export type CatalogEvent =
  | { readonly kind: 'class'; readonly part: ClassCatalog; readonly sequence: number }
  | {
      /** A part is no longer part of any catalog; of part 0, the class has no catalog. */
      readonly kind: 'class-gone';
      readonly classUid: string;
      readonly part: number;
      readonly sequence: number;
    }
  | {
      readonly kind: 'unavailable';
      readonly offering: UnavailableOffering;
      readonly sequence: number;
    }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string }
  | MalformedMessage;

/**
 * Reads one message of the catalog. An offering is avoided for no longer than `limits.avoidedMsMax`
 * from `nowMs` on, even if the message asks for more.
 */
export function catalogEventOf(
  { cluster, nowMs }: { readonly cluster: string; readonly nowMs: number },
  message: Pick<DeliveredMessage, 'subject' | 'payload' | 'headers' | 'sequence'>,
): CatalogEvent {
  const { subject, sequence } = message;
  const stray = strayFault({ cluster }, 'catalog', message);
  if (stray !== undefined) return { kind: 'malformed', subject, sequence, ...stray };
  const unavailable = subject.split('.')[4] === 'unavailable';
  const decoded = unavailable
    ? decodeUnavailableOffering(message.payload)
    : decodeClassCatalog(message.payload);
  if (!decoded.ok)
    return { kind: 'malformed', subject, sequence, field: decoded.field, reason: decoded.reason };
  const { value } = decoded;
  const own =
    'classUid' in value
      ? subjects.classCatalog(cluster, value.classUid, value.part)
      : subjects.unavailable(cluster, value);
  if (own !== subject)
    return {
      kind: 'malformed',
      subject,
      sequence,
      field: 'classUid' in value ? 'classUid' : 'instanceType',
      reason: `the message belongs to ${own}`,
    };
  if (!('classUid' in value)) {
    const untilMs = Math.min(value.untilMs, nowMs + limits.avoidedMsMax);
    return { kind: 'unavailable', offering: { ...value, untilMs }, sequence };
  }
  return value.parts === 0
    ? { kind: 'class-gone', classUid: value.classUid, part: value.part, sequence }
    : { kind: 'class', part: value, sequence };
}

/**
 * Follows the catalog: all last messages, `caught-up`, then changes. Ends when `stop` is aborted.
 */
export async function* followCatalog(
  { bus, cluster, clock }: Pick<Channel, 'bus' | 'cluster' | 'clock'>,
  stop: StopSignal,
): AsyncGenerator<CatalogEvent> {
  const options = {
    stream: streamName(cluster, 'catalog'),
    filters: [subjects.catalogAll(cluster)],
  };
  for await (const event of bus.follow(options, stop)) {
    yield event.kind === 'message'
      ? catalogEventOf({ cluster, nowMs: clock.nowMs() }, event.message)
      : event;
  }
}
