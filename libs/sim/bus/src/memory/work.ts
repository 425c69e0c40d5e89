import {
  BusError,
  type Clock,
  type QueueLag,
  type WorkerSpec,
  type WorkItem,
} from '@dovetail/core-ports';

import type { MemoryStream, StoredMessage } from './stream.js';
import { matchesSubject } from './subject-filter.js';

type Pending = Map<number, { deliveries: number; dueMs: number }>;

/**
 * The consumer, made if it is missing, after what its worker has reached before. A message that is
 * due at no time is done for it.
 */
const consumerOf = (
  stream: MemoryStream,
  spec: WorkerSpec,
  { nowMs, reachedMs }: Pick<Delivery, 'nowMs' | 'reachedMs'>,
): Pending => {
  const known = stream.consumers.get(spec.name);
  if (known !== undefined) return known;
  const made: Pending = new Map();
  stream.consumers.set(spec.name, made);
  const beginsMs =
    spec.from === undefined ? 0 : (reachedMs ?? (spec.from === 'now' ? Infinity : 0));
  for (const { sequence, timeMs } of stream.messages(nowMs))
    if (timeMs < beginsMs) made.set(sequence, { deliveries: 0, dueMs: Infinity });
  return made;
};

const isInFlight =
  (nowMs: number) =>
  ({ dueMs }: { readonly dueMs: number }): boolean =>
    dueMs > nowMs && dueMs !== Infinity;

/** When and how messages are delivered: so long after they were stored, and in which order. */
type Delivery = {
  readonly nowMs: number;
  readonly lagMs: number;
  readonly newestFirst: boolean;
  /** When the last message that the worker got was stored. Undefined: it got none. */
  readonly reachedMs?: number | undefined;
};

/**
 * The next message for a worker, or the time at which one that is with another worker is due again.
 */
export function take(
  stream: MemoryStream,
  spec: WorkerSpec,
  { nowMs, lagMs, newestFirst, reachedMs }: Delivery,
): { readonly message: StoredMessage; readonly deliveries: number } | { readonly dueMs: number } {
  const pending = consumerOf(stream, spec, { nowMs, reachedMs });
  let dueMs = Infinity;
  const inFlight = [...pending.values()].filter(isInFlight(nowMs)).length;
  const messages = stream.messages(nowMs);
  for (const message of newestFirst ? [...messages].reverse() : messages) {
    if (spec.filter !== undefined && !matchesSubject(spec.filter, message.subject)) continue;
    const entry = pending.get(message.sequence);
    const nextMs = Math.max(entry?.dueMs ?? 0, message.timeMs + lagMs);
    if (nextMs > nowMs) dueMs = Math.min(dueMs, nextMs);
    else if (inFlight < spec.inFlightMax) {
      const deliveries = (entry?.deliveries ?? 0) + 1;
      pending.set(message.sequence, { deliveries, dueMs: nowMs + spec.ackWaitMs });
      return { message, deliveries };
    }
  }
  return { dueMs };
}

/** A consumer by its name, and the subjects that it reads. */
export type QueueName = Pick<WorkerSpec, 'stream' | 'name' | 'filter'>;

/** The messages that a consumer has not delivered, and those that are not acked. */
export function lagOf(
  stream: MemoryStream,
  { name, filter }: Omit<QueueName, 'stream'>,
  nowMs: number,
): QueueLag | undefined {
  const pending = stream.consumers.get(name);
  if (pending === undefined) return undefined;
  const held = [...stream.messages(nowMs)].filter(
    ({ subject }) => filter === undefined || matchesSubject(filter, subject),
  );
  const entries = held.map(({ sequence }) => pending.get(sequence));
  return {
    waiting: entries.filter((entry) => entry === undefined).length,
    taken: entries.filter((entry) => entry !== undefined && entry.dueMs !== Infinity).length,
  };
}

/**
 * A delivered message with its acknowledgements. As in NATS, they are refused when the stream or
 * the consumer is gone.
 */
export function workItem(
  options: { stream: MemoryStream; spec: WorkerSpec; clock: Clock; reachable: () => boolean },
  taken: { readonly message: StoredMessage; readonly deliveries: number },
): WorkItem {
  const { stream, spec, clock } = options;
  const { sequence } = taken.message;
  const pending = stream.consumers.get(spec.name);
  const check = (): void => {
    if (!options.reachable()) throw new BusError('unavailable', 'the bus is down');
    if (pending === undefined || stream.consumers.get(spec.name) !== pending)
      throw new BusError('no-stream', `consumer ${spec.name} of ${spec.stream} is gone`);
  };
  const due = (afterMs: number): void => {
    const entry = pending?.get(sequence);
    if (entry !== undefined) entry.dueMs = clock.nowMs() + afterMs;
    stream.changed.wake();
  };
  const run = (effect: () => void): Promise<void> =>
    new Promise((resolve) => {
      check();
      effect();
      resolve();
    });
  return {
    message: taken.message,
    deliveries: taken.deliveries,
    ack: () => run(() => (stream.spec.keep === 'work' ? stream.remove(sequence) : due(Infinity))),
    nak: (delayMs) => run(() => due(delayMs)),
    working: () => run(() => due(spec.ackWaitMs)),
  };
}
