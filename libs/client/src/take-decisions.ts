import { connectNats } from '@dovetail/adapter-nats';
import {
  cloudEventOf,
  type Decision,
  type DecisionKind,
  decisionOf,
  streamName,
} from '@dovetail/contracts';
import type { CloudEvent, StopSignal, WorkItem } from '@dovetail/core-ports';

import { type BusAddress, connectionOf, hash } from './address.js';

/** Which decisions to take, and under which name NATS keeps the place. */
export type TakeSource = BusAddress & {
  /**
   * The name of the consumer on NATS: letters, digits, `-` and `_`. Programs of one name share the
   * decisions, and one that starts again goes on where the last one was.
   */
  readonly consumer: string;
  /** Only these kinds. Others are acked unseen. Absent: all kinds. */
  readonly kinds?: readonly DecisionKind[];
  /**
   * Where a consumer begins that NATS does not know yet. Default `first`: with all that is kept.
   */
  readonly from?: 'first' | 'now';
  /**
   * How long a decision may be in hand before NATS gives it out again. Default 30,000. Call
   * `working` to extend it.
   */
  readonly ackWaitMs?: number;
  /** The most decisions in hand at once. Default 1: with one program, their order is kept. */
  readonly inHandMax?: number;
};

/** A decision in hand. NATS gives it out again unless it is acked. */
export type TakenDecision = {
  readonly decision: Decision;
  /** The same as a CloudEvent. Its `id` is the key by which a repetition is known. */
  readonly event: CloudEvent | undefined;
  readonly sequence: number;
  /** When the stream stored it, in milliseconds since 1970. */
  readonly timeMs: number;
  /** 1 for the first time. */
  readonly deliveries: number;
  /** Done. Rejects with BusError if NATS did not learn of it; then the decision comes again. */
  ack(): Promise<void>;
  /** Asks for it again after a delay. Rejects with BusError. */
  retry(delayMs: number): Promise<void>;
  /** Says that the work goes on. Rejects with BusError. */
  working(): Promise<void>;
};

/**
 * Takes decisions one after the other, each at least once, until `stop` is aborted. NATS keeps the
 * place under the name of the consumer, which stays until someone deletes it. A message that cannot
 * be read is acked and left out, and told to `log`.
 *
 * ```ts
 * import { takeDecisions } from '@dovetail/client';
 *
 * const stop = new AbortController();
 * for await (const taken of takeDecisions({ cluster: 'lab', consumer: 'audit' }, stop.signal)) {
 *   console.log(taken.event?.id, taken.decision.summary);
 *   await taken.ack();
 * }
 * ```
 */
export async function* takeDecisions(
  source: TakeSource,
  stop: StopSignal,
): AsyncGenerator<TakenDecision> {
  const { consumer, kinds, from = 'first', ackWaitMs = 30_000, inHandMax = 1, ...address } = source;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(consumer))
    throw new TypeError(
      `consumer is ${JSON.stringify(consumer)}: give up to 64 letters, digits, - and _`,
    );
  const options = connectionOf(address, 'reader');
  const bus = connectNats(options);
  const reader = { bus, cluster: source.cluster, hash };
  const stream = streamName(source.cluster, 'decisions');
  const worker = { stream, name: consumer, ackWaitMs, inFlightMax: inHandMax, from };
  try {
    for await (const item of bus.work(worker, stop)) {
      const decoded = await decisionOf(reader, item.message);
      if (decoded.ok && (kinds === undefined || kinds.includes(decoded.value.kind))) {
        yield takenOf(item, decoded.value);
        continue;
      }
      if (!decoded.ok)
        options.log.warn('decision-unreadable', `${decoded.field}: ${decoded.reason}`, {
          sequence: item.message.sequence,
        });
      await item.ack();
    }
  } finally {
    await bus.close();
  }
}

const takenOf = (item: WorkItem, decision: Decision): TakenDecision => ({
  decision,
  event: cloudEventOf(item.message, decision),
  sequence: item.message.sequence,
  timeMs: item.message.timeMs,
  deliveries: item.deliveries,
  ack: () => item.ack(),
  retry: (delayMs) => item.nak(delayMs),
  working: () => item.working(),
});
