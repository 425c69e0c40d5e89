import {
  type Condition,
  controllerOf,
  type Pod,
  timeText,
  type Workload,
} from '../model/objects.js';
import { keyOf } from '../store/table.js';
import {
  type Controller,
  type ControllerContext,
  createPod,
  deletePod,
  writeStatus,
} from './context.js';
import { isAvailable } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'jobs.batch';
const component = 'job-controller';

type JobSpec = {
  readonly completions?: number;
  readonly parallelism?: number;
  readonly backoffLimit?: number;
  readonly suspend?: boolean;
  readonly ttlSecondsAfterFinished?: number;
  readonly activeDeadlineSeconds?: number;
};

/** Runs a Job's pods until enough have succeeded, or too many failed. */
export function jobController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync(context, queue, key),
    onError: (key, error) => context.onError(component, key, error),
  });
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
  ((job.status?.['conditions'] ?? []) as readonly Condition[]).find(
    (one) => (one.type === 'Complete' || one.type === 'Failed') && one.status === 'True',
  );

function cleanUpLater(
  context: ControllerContext,
  queue: WorkQueue,
  job: Workload,
  done: Condition,
): void {
  const seconds = (job.spec as JobSpec).ttlSecondsAfterFinished;
  if (seconds === undefined) return;
  const { store } = context;
  const leftMs = Date.parse(done.lastTransitionTime ?? '') + seconds * 1000 - store.clock.nowMs();
  if (leftMs > 0) queue.addAfter(keyOf(job.metadata.namespace, job.metadata.name), leftMs);
  else
    store.delete(store.type('batch', 'v1', 'jobs'), job.metadata, {
      uid: job.metadata.uid,
      propagation: 'Foreground',
    });
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
  const active = pods.filter(isActive);
  const verdict = verdictOf(context, queue, job, { succeeded, failed, active: active.length });
  if (verdict !== undefined) for (const pod of active) deletePod(context, job, pod, component);
  const { failure } =
    verdict === undefined ? scale(context, job, { succeeded, active }) : { failure: undefined };
  report(context, job, verdict);
  if (failure !== undefined) throw failure;
}

type PodCounts = { readonly succeeded: number; readonly failed: number; readonly active: number };

const isComplete = ({ completions }: JobSpec, counts: PodCounts): boolean =>
  completions === undefined
    ? counts.succeeded > 0 && counts.active === 0
    : counts.succeeded >= completions;

/** Milliseconds until the Job's active deadline; undefined when it has none or has not started. */
function deadlineInMs(job: Workload, nowMs: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec as JobSpec;
  const startTime = job.status?.['startTime'] as string | undefined;
  return activeDeadlineSeconds === undefined || startTime === undefined
    ? undefined
    : Date.parse(startTime) + activeDeadlineSeconds * 1000 - nowMs;
}

const verdicts = {
  deadline: ['Failed', 'DeadlineExceeded', 'Job was active longer than specified deadline'],
  backoff: ['Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit'],
  complete: ['Complete', 'CompletionsReached', 'Reached expected number of succeeded pods'],
} as const;

/** The final condition of a Job, once it has completed or failed. */
function verdictOf(
  context: ControllerContext,
  queue: WorkQueue,
  job: Workload,
  counts: PodCounts,
): Condition | undefined {
  const spec = job.spec as JobSpec;
  const nowMs = context.store.clock.nowMs();
  const verdict = (kind: keyof typeof verdicts): Condition => {
    const [type, reason, message] = verdicts[kind];
    const now = timeText(nowMs);
    return { type, status: 'True', lastProbeTime: now, lastTransitionTime: now, reason, message };
  };
  const leftMs = deadlineInMs(job, nowMs);
  if (leftMs !== undefined && leftMs <= 0) return verdict('deadline');
  if (leftMs !== undefined)
    queue.addAfter(keyOf(job.metadata.namespace, job.metadata.name), leftMs);
  if (counts.failed > (spec.backoffLimit ?? 6)) return verdict('backoff');
  return isComplete(spec, counts) ? verdict('complete') : undefined;
}

function scale(
  context: ControllerContext,
  job: Workload,
  { succeeded, active }: { readonly succeeded: number; readonly active: readonly Pod[] },
): { readonly failure: Error | undefined } {
  const spec = job.spec as JobSpec;
  const parallel = spec.suspend === true ? 0 : (spec.parallelism ?? 1);
  const left =
    spec.completions === undefined
      ? succeeded > 0
        ? active.length
        : parallel
      : spec.completions - succeeded;
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

const isActive = (pod: Pod): boolean =>
  pod.status?.phase !== 'Succeeded' &&
  pod.status?.phase !== 'Failed' &&
  pod.metadata.deletionTimestamp === undefined;

/** The conditions of a Job that has ended, and its completion time when it succeeded. */
function outcomeOf(verdict: Condition | undefined, nowMs: number): object {
  if (verdict === undefined) return {};
  const complete = verdict.type === 'Complete';
  const reached = { ...verdict, type: complete ? 'SuccessCriteriaMet' : 'FailureTarget' };
  return {
    conditions: [reached, verdict],
    ...(complete ? { completionTime: timeText(nowMs) } : {}),
  };
}

function report(context: ControllerContext, job: Workload, verdict: Condition | undefined): void {
  const { store } = context;
  const current = store.state.table(table).get(keyOf(job.metadata.namespace, job.metadata.name)) as
    Workload | undefined;
  if (current === undefined) return;
  const nowMs = store.clock.nowMs();
  const pods = context.podsByOwner.get(job.metadata.uid) as readonly Pod[];
  const inPhase = (phase: string): number =>
    pods.filter((pod) => pod.status?.phase === phase).length;
  const active = pods.filter(isActive);
  const counts = {
    active: verdict === undefined ? active.length : 0,
    succeeded: inPhase('Succeeded'),
    failed: inPhase('Failed'),
  };
  writeStatus(store, store.type('batch', 'v1', 'jobs'), current, {
    ...Object.fromEntries(Object.entries(counts).filter(([, value]) => value > 0)),
    ready: active.filter((pod) => isAvailable(pod, 0, nowMs)).length,
    terminating: 0,
    startTime: (current.status?.['startTime'] as string | undefined) ?? timeText(nowMs),
    uncountedTerminatedPods: {},
    ...outcomeOf(verdict, nowMs),
  });
  if (verdict !== undefined) recordEnd(context, current, verdict);
}

function recordEnd(context: ControllerContext, job: Workload, verdict: Condition): void {
  const event =
    verdict.type === 'Complete'
      ? { type: 'Normal' as const, reason: 'Completed', message: 'Job completed' }
      : {
          type: 'Warning' as const,
          reason: verdict.reason ?? 'Failed',
          message: verdict.message ?? '',
        };
  context.recorder.record(job, { ...event, component });
}
