import type { Headers, PublishAck, StopSignal, StreamPosition } from '@dovetail/core-ports';

import { decodeStateRecord, encodeStateRecord } from '../codec/index.js';
import { limits } from '../limits.js';
import type {
  AdmissionHead,
  PodPromise,
  StateKind,
  StateRecord,
  StateValue,
  Verdict,
} from '../messages.js';
import { streamName, subjectOfRecord, subjects } from '../subjects.js';
import { type Channel, post, type Reader, strayFault } from './channel.js';

/**
 * The message id of a record, for the bus's duplicate window. Each publish has a new generation and
 * so a new id.
 */
export function messageIdOf(record: StateRecord): string {
  if (record.kind === 'gone') return `${record.stateKind}/${record.uid}/gone/${record.generation}`;
  const version = 'resourceVersion' in record.state.value ? record.state.value.resourceVersion : '';
  return `${record.state.kind}/${record.uid}/${version}/${record.generation}`;
}

/**
 * Publishes one object of the state feed, or its tombstone. `expect` is the last sequence that the
 * publisher has seen on the subject (0: none). A deposed publisher therefore fails with
 * `wrong-last-sequence` and cannot overwrite its successor. Rejects with BusError. Throws
 * EncodeError for a value that the wire cannot carry.
 */
export function publishState(
  channel: Channel,
  record: StateRecord,
  options: { readonly expect?: number } = {},
): Promise<PublishAck> {
  return post(channel, {
    subject: subjectOfRecord(channel.cluster, record),
    stream: 'state',
    type: 'StateRecord',
    payload: encodeStateRecord(record),
    messageId: messageIdOf(record),
    ...(options.expect === undefined ? {} : { expectLastSubjectSequence: options.expect }),
    ...lifeOf(record),
  });
}

/** Tombstones and verdicts expire. Every other record stays until a newer one replaces it. */
const lifeOf = (record: StateRecord): { readonly ttlMs?: number } => {
  if (record.kind === 'gone') return { ttlMs: limits.tombstoneMs };
  return record.state.kind === 'verdict' ? { ttlMs: limits.verdictMs } : {};
};

const set = (state: StateValue, uid: string, generation: string): StateRecord => ({
  kind: 'set',
  uid,
  state,
  generation,
});

/**
 * Publishes a promise, from the launcher. Each publish needs a new `generation`: its epoch and a
 * counter.
 */
export const publishPromise = (
  channel: Channel,
  value: PodPromise,
  options: { readonly generation: string; readonly expect?: number },
): Promise<PublishAck> =>
  publishState(
    channel,
    set({ kind: 'promise', value }, value.holderUid, options.generation),
    options,
  );

/** Publishes the outcome of a plan for one pod, from the launcher. */
export const publishVerdict = (
  channel: Channel,
  value: Verdict,
  options: { readonly generation: string; readonly expect?: number },
): Promise<PublishAck> =>
  publishState(channel, set({ kind: 'verdict', value }, value.podUid, options.generation), options);

/** The uid of the one record that holds the last admission. */
export const admissionHeadUid = 'head';

/** Publishes the last admission, from the launcher. */
export const publishHead = (
  channel: Channel,
  value: AdmissionHead,
  options: { readonly generation: string; readonly expect?: number },
): Promise<PublishAck> =>
  publishState(
    channel,
    set({ kind: 'admission', value }, admissionHeadUid, options.generation),
    options,
  );

/**
 * An event of the state feed. `caught-up` follows the first complete reading and every one after a
 * `reset`.
 */
export type StateEvent =
  | {
      readonly kind: 'record';
      readonly record: StateRecord;
      readonly sequence: number;
      readonly timeMs: number;
    }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string }
  | MalformedMessage;

/**
 * A message that could not be read. The reader logs and skips it, and keeps the object as it was.
 */
export type MalformedMessage = {
  readonly kind: 'malformed';
  readonly subject: string;
  readonly sequence: number;
  readonly field: string;
  readonly reason: string;
};

/** Reads one message of the state feed. Its object must be the one that its subject names. */
export function stateEventOf(
  cluster: string,
  message: {
    readonly subject: string;
    readonly payload: Uint8Array;
    readonly headers: Headers;
    readonly sequence: number;
    readonly timeMs: number;
  },
): StateEvent {
  const { subject, sequence, timeMs } = message;
  const stray = strayFault({ cluster }, 'state', message);
  if (stray !== undefined) return { kind: 'malformed', subject, sequence, ...stray };
  const decoded = decodeStateRecord(message.payload);
  if (!decoded.ok)
    return { kind: 'malformed', subject, sequence, field: decoded.field, reason: decoded.reason };
  const own = subjectOfRecord(cluster, decoded.value);
  if (own !== subject)
    return {
      kind: 'malformed',
      subject,
      sequence,
      field: 'uid',
      reason: `the record belongs to ${own}`,
    };
  return { kind: 'record', record: decoded.value, sequence, timeMs };
}

/**
 * Follows the state feed: all last records, `caught-up`, then live ones. Ends when `stop` is
 * aborted.
 */
export async function* followState(
  reader: Pick<Reader, 'bus' | 'cluster'>,
  stop: StopSignal,
  options: { readonly kinds?: readonly StateKind[] } = {},
): AsyncGenerator<StateEvent> {
  const filters = options.kinds?.map((kind) => subjects.stateOfKind(reader.cluster, kind)) ?? [
    subjects.stateAll(reader.cluster),
  ];
  for await (const event of reader.bus.follow(
    { stream: streamName(reader.cluster, 'state'), filters },
    stop,
  )) {
    yield event.kind === 'message' ? stateEventOf(reader.cluster, event.message) : event;
  }
}
