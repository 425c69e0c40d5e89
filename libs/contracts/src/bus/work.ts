import type { Hash, PublishAck, StopSignal, WorkerSpec, WorkItem } from '@dovetail/core-ports';
import { decodePendingBatch, decodePlanMessage, encodePendingBatch, encodePlanMessage } from '../codec/index.js';
import { traceparentOf } from '../headers.js';
import type { Decoded, PendingBatch, PlanCause, PlanMessage } from '../messages.js';
import { subjects, workers } from '../subjects.js';
import { type Channel, contentId, payloadOf, post, type Reader } from './channel.js';

/** Queues a group's pending pods; it replaces an older batch of the group that nobody has taken. */
export const publishBatch = (channel: Channel, batch: PendingBatch): Promise<PublishAck> =>
  post(channel, {
    subject: subjects.pending(channel.cluster, batch.group), type: 'PendingBatch', payload: encodePendingBatch(batch),
    messageId: `batch/${batch.group}/${batch.round}`, traceparent: traceparentOf(channel.hash, { trace: traceOf(batch), span: 'batch' }),
  });

/** The trace of a planning round; a replacement's is that of its node. */
const traceOf = (about: { readonly group: string; readonly round: string }): string => `${about.group}/${about.round}`;
const traceOfCause = (cause: PlanCause): string => (cause.kind === 'pending' ? traceOf(cause) : `replace/${cause.nodeUid}`);

/** Plans of one group replace each other; a replacement stands for itself. */
export const groupOf = (cause: PlanCause): string => (cause.kind === 'pending' ? cause.group : `replace/${cause.nodeUid}`);

/** A plan's id: the hash of what it says and what it had seen. Who made it, when and how fast is left out. */
export const planIdOf = (hash: Hash, plan: Omit<PlanMessage, 'id'>): string =>
  contentId(hash, encodePlanMessage({ ...plan, id: '-', createdMs: 0, solver: '-', solveMs: 0 })).slice(0, 32);

/** Hands a plan to the launcher. The message id says the telling as well: the same plan made again after a loss is heard again. */
export const publishPlan = (channel: Channel, plan: PlanMessage): Promise<PublishAck> =>
  post(channel, {
    subject: subjects.plan(channel.cluster, groupOf(plan.cause)), type: 'PlanMessage', payload: encodePlanMessage(plan),
    messageId: `plan/${plan.id}/${String(plan.createdMs)}`, traceparent: traceparentOf(channel.hash, { trace: traceOfCause(plan.cause), span: plan.id }),
  });

/** A batch or plan to work on. The taker acks it when its effect is recorded; a malformed one should be acked and reported. */
export type Work<T> = { readonly item: WorkItem; readonly read: Decoded<T> };

/** Batches for solvers: one shared consumer, each batch to one of them. Ends when `stop` is aborted. */
export const workBatches = (reader: Reader, stop: StopSignal): AsyncGenerator<Work<PendingBatch>> => workOf(reader, workers.solvers(reader.cluster), decodePendingBatch, stop);

/** Plans for the leading launcher. Ends when `stop` is aborted. */
export const workPlans = (reader: Reader, stop: StopSignal): AsyncGenerator<Work<PlanMessage>> => workOf(reader, workers.launcher(reader.cluster), decodePlanMessage, stop);

async function* workOf<T>(reader: Reader, spec: WorkerSpec, decode: (bytes: Uint8Array) => Decoded<T>, stop: StopSignal): AsyncGenerator<Work<T>> {
  for await (const item of reader.bus.work(spec, stop)) {
    const bytes = await payloadOf(reader, item.message);
    yield { item, read: bytes.ok ? decode(bytes.value) : bytes };
  }
}
