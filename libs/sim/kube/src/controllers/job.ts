import { controllerOf, timeText, type Condition, type Pod, type Workload } from '../model.js';
import { keyOf } from '../store/table.js';
import { createPod, deletePod, writeStatus, type Controller, type ControllerContext } from './context.js';
import { isAvailable } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'jobs.batch';
const component = 'job-controller';

type JobSpec = { readonly completions?: number; readonly parallelism?: number; readonly backoffLimit?: number; readonly suspend?: boolean; readonly ttlSecondsAfterFinished?: number; readonly activeDeadlineSeconds?: number };

/** Runs a Job's pods until enough have succeeded, or too many failed. */
export function jobController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({ clock: store.clock, work: (key) => sync(context, queue, key), onError: (key, error) => context.onError(component, key, error) });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) queue.add(keyOf(namespace, name));
      const owner = change.table === 'pods' ? controllerOf(change.object) : undefined;
      if (owner?.kind === 'Job') queue.add(keyOf(namespace, owner.name));
    },
  };
}

const finished = (job: Workload): Condition | undefined =>
  ((job.status?.['conditions'] ?? []) as readonly Condition[]).find((one) => (one.type === 'Complete' || one.type === 'Failed') && one.status === 'True');

function cleanUpLater(context: ControllerContext, queue: WorkQueue, job: Workload, done: Condition): void {
  const seconds = (job.spec as JobSpec).ttlSecondsAfterFinished;
  if (seconds === undefined) return;
  const { store } = context;
  const leftMs = Date.parse(done.lastTransitionTime ?? '') + seconds * 1000 - store.clock.nowMs();
  if (leftMs > 0) queue.addAfter(keyOf(job.metadata.namespace, job.metadata.name), leftMs);
  else store.delete(store.type('batch', 'v1', 'jobs'), job.metadata, { uid: job.metadata.uid, propagation: 'Foreground' });
}

function sync(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const job = store.state.table(table).get(key) as Workload | undefined;
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return;
  const done = finished(job);
  if (done !== undefined) return cleanUpLater(context, queue, job, done);
  const pods = context.podsByOwner.get(job.metadata.uid) as readonly Pod[];
  const succeeded = pods.filter((pod) => pod.status?.phase === 'Succeeded').length;
  const failed = pods.filter((pod) => pod.status?.phase === 'Failed').length;
  const active = pods.filter((pod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined);
  const verdict = verdictOf(context, queue, job, { succeeded, failed, active: active.length });
  if (verdict !== undefined) for (const pod of active) deletePod(context, job, pod, component);
  const { failure } = verdict === undefined ? scale(context, job, { succeeded, active }) : { failure: undefined };
  report(context, job, verdict);
  if (failure !== undefined) throw failure;
}

function verdictOf(context: ControllerContext, queue: WorkQueue, job: Workload, counts: { succeeded: number; failed: number; active: number }): Condition | undefined {
  const spec = job.spec as JobSpec;
  const lastTransitionTime = timeText(context.store.clock.nowMs());
  const at = { status: 'True', lastProbeTime: lastTransitionTime, lastTransitionTime };
  if (spec.activeDeadlineSeconds !== undefined && job.status?.['startTime'] !== undefined) {
    const leftMs = Date.parse(job.status['startTime'] as string) + spec.activeDeadlineSeconds * 1000 - context.store.clock.nowMs();
    if (leftMs <= 0) return { type: 'Failed', ...at, reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
    queue.addAfter(keyOf(job.metadata.namespace, job.metadata.name), leftMs);
  }
  if (counts.failed > (spec.backoffLimit ?? 6)) return { type: 'Failed', ...at, reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  const complete = spec.completions === undefined ? counts.succeeded > 0 && counts.active === 0 : counts.succeeded >= spec.completions;
  return complete ? { type: 'Complete', ...at, reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' } : undefined;
}

function scale(context: ControllerContext, job: Workload, { succeeded, active }: { readonly succeeded: number; readonly active: readonly Pod[] }): { readonly failure: Error | undefined } {
  const spec = job.spec as JobSpec;
  const parallel = spec.suspend === true ? 0 : (spec.parallelism ?? 1);
  const left = spec.completions === undefined ? (succeeded > 0 ? active.length : parallel) : spec.completions - succeeded;
  const wanted = Math.max(0, Math.min(parallel, left));
  for (const pod of active.slice(wanted)) deletePod(context, job, pod, component);
  for (let made = active.length; made < wanted; made += 1) {
    try {
      createPod(context, job, job.spec.template, { component });
    } catch (thrown) {
      return { failure: thrown instanceof Error ? thrown : new Error(String(thrown)) };
    }
  }
  return { failure: undefined };
}

function report(context: ControllerContext, job: Workload, verdict: Condition | undefined): void {
  const { store } = context;
  const current = store.state.table(table).get(keyOf(job.metadata.namespace, job.metadata.name)) as Workload | undefined;
  if (current === undefined) return;
  const now = store.clock.nowMs();
  const pods = context.podsByOwner.get(job.metadata.uid) as readonly Pod[];
  const inPhase = (phase: string): number => pods.filter((pod) => pod.status?.phase === phase).length;
  const alive = pods.filter((pod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined);
  const counts = { active: verdict === undefined ? alive.length : 0, succeeded: inPhase('Succeeded'), failed: inPhase('Failed') };
  const present = Object.fromEntries(Object.entries(counts).filter(([, value]) => value > 0));
  const startTime = (current.status?.['startTime'] as string | undefined) ?? timeText(now);
  const reached: Condition | undefined = verdict === undefined ? undefined : { ...verdict, type: verdict.type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget' };
  const outcome = verdict === undefined ? {} : { conditions: [reached, verdict], ...(verdict.type === 'Complete' ? { completionTime: timeText(now) } : {}) };
  writeStatus(store, store.type('batch', 'v1', 'jobs'), current, { ...present, ready: alive.filter((pod) => isAvailable(pod, 0, now)).length, terminating: 0, startTime, uncountedTerminatedPods: {}, ...outcome });
  if (verdict === undefined) return;
  const note = verdict.type === 'Complete' ? { type: 'Normal' as const, reason: 'Completed', message: 'Job completed' } : { type: 'Warning' as const, reason: verdict.reason ?? 'Failed', message: verdict.message ?? '' };
  context.recorder.record(current, { ...note, component });
}
