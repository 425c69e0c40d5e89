import { compareText } from '@dovetail/core-kube-model';
import type {
  Hash,
  PublishAck,
  QueueLag,
  StopSignal,
  TracePlace,
  WorkConsumer,
  WorkerSpec,
  WorkItem,
} from '@dovetail/core-ports';

import {
  decodePendingBatch,
  decodePlanMessage,
  encodePendingBatch,
  encodePlanMessage,
} from '../codec/index.js';
import {
  type Decoded,
  type PendingBatch,
  type PlanCause,
  type PlanMessage,
  replacedNodes,
} from '../messages.js';
import { type StreamRole, subjects, workers } from '../subjects.js';
import { placeOfBatch, placeOfDecision, traceparentOf, workOfPlan } from '../traces.js';
import { type Channel, contentId, payloadOf, post, type Reader, strayFault } from './channel.js';

/**
 * Queues a group's pending pods. It replaces an older batch of the group that no solver has taken
 * yet.
 */
export const publishBatch = (channel: Channel, batch: PendingBatch): Promise<PublishAck> =>
  post(channel, {
    subject: subjects.pending(channel.cluster, batch.group),
    stream: 'pending',
    type: 'PendingBatch',
    payload: encodePendingBatch(batch),
    messageId: `batch/${batch.group}/${batch.round}`,
    traceparent: traceparentOf(placeOfBatch(channel, batch), channel.traces),
  });

/**
 * The group of a plan. Plans of one group replace each other. Each replacement is a group of its
 * own: of its node, or of its set of nodes, because a plan for some of them must not displace the
 * plan for all.
 */
function groupOf(hash: Hash, cause: PlanCause): string {
  if (cause.kind === 'pending') return cause.group;
  const uids = replacedNodes(cause).map(({ nodeUid }) => nodeUid);
  if (uids.length === 1) return `replace/${cause.nodeUid}`;
  return `replace/${hash.sha256Hex(uids.sort(compareText).join(' ')).slice(0, 32)}`;
}

/**
 * A plan's id: the hash of its content and of the state it was based on. Solver, time and duration
 * are left out.
 */
export const planIdOf = (hash: Hash, plan: Omit<PlanMessage, 'id'>): string =>
  contentId(
    hash,
    encodePlanMessage({ ...plan, id: '-', createdMs: 0, solver: '-', solveMs: 0 }),
  ).slice(0, 32);

/** The id of a plan's decision. */
export const planDecisionId = ({ id }: Pick<PlanMessage, 'id'>): string => `plan/${id}`;

/**
 * Queues a plan for the launcher. The message id includes the time, so that the same plan can be
 * published again after a loss. `batch` is the place of its batch in a trace.
 */
export function publishPlan(
  channel: Channel,
  plan: PlanMessage,
  batch?: TracePlace,
): Promise<PublishAck> {
  const { traceId } = workOfPlan(channel, plan, batch);
  const place = placeOfDecision(channel, planDecisionId(plan), traceId);
  return post(channel, {
    subject: subjects.plan(channel.cluster, groupOf(channel.hash, plan.cause)),
    stream: 'plans',
    type: 'PlanMessage',
    payload: encodePlanMessage(plan),
    messageId: `plan/${plan.id}/${String(plan.createdMs)}`,
    traceparent: traceparentOf(place, channel.traces),
  });
}

/** A reader that also takes work. */
export type WorkReader = Reader & { readonly bus: WorkConsumer };

/**
 * A batch or plan to work on. Ack it when its effect is recorded. Ack a malformed one too, and log
 * it.
 */
export type Work<T> = { readonly item: WorkItem; readonly read: Decoded<T> };

/**
 * Batches for solvers. They share one consumer, so each batch goes to one solver. Ends when `stop`
 * is aborted.
 */
export const workBatches = (
  reader: WorkReader,
  stop: StopSignal,
): AsyncGenerator<Work<PendingBatch>> =>
  workOf(
    reader,
    { role: 'pending', spec: workers.solvers(reader.cluster), decode: decodePendingBatch },
    stop,
  );

/** The batches that are not planned yet. Undefined: no solver has ever run. */
export const batchesLag = ({ bus, cluster }: Reader): Promise<QueueLag | undefined> =>
  bus.lagOf(workers.solvers(cluster));

/** Plans for the leading launcher. Ends when `stop` is aborted. */
export const workPlans = (
  reader: WorkReader,
  stop: StopSignal,
): AsyncGenerator<Work<PlanMessage>> =>
  workOf(
    reader,
    { role: 'plans', spec: workers.launcher(reader.cluster), decode: decodePlanMessage },
    stop,
  );

/** Delay until a message comes again whose parts the bus did not give: a server restarts in it. */
const againMs = 2_000;

/** A queue, and how its messages are read. */
type Queue<T> = {
  readonly role: StreamRole;
  readonly spec: WorkerSpec;
  readonly decode: (bytes: Uint8Array) => Decoded<T>;
};

async function* workOf<T>(
  reader: WorkReader,
  { role, spec, decode }: Queue<T>,
  stop: StopSignal,
): AsyncGenerator<Work<T>> {
  for await (const item of reader.bus.work(spec, stop)) {
    const stray = strayFault(reader, role, item.message);
    if (stray !== undefined) {
      yield { item, read: { ok: false, ...stray } };
      continue;
    }
    const bytes = await payloadOf(reader, item.message).catch(() => undefined);
    if (bytes === undefined) {
      // The parts could not be collected now. The connection itself reports a lost bus.
      await item.nak(againMs).catch(() => undefined);
      continue;
    }
    yield { item, read: bytes.ok ? decode(bytes.value) : bytes };
  }
}
