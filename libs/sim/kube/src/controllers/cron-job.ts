import { messageOf } from '@dovetail/core-ports';

import { type CronSchedule, cronSchedule, isTimeZone } from '../model/cron-schedule.js';
import { StatusError } from '../model/errors.js';
import { equalJson } from '../model/json.js';
import {
  conditionOf,
  controllerOf,
  type SentObject,
  type StoredObject,
  timeText,
  type Workload,
} from '../model/objects.js';
import type { ResourceType } from '../store/registry.js';
import { keyOf } from '../store/table.js';
import { type Controller, type ControllerContext, ownedBy, writeStatus } from './context.js';
import { type DueStart, dueStart, NoStartsError, untilNextMs } from './cron-times.js';
import { ObjectIndex } from './object-index.js';
import { WorkQueue } from './work-queue.js';

const table = 'cronjobs.batch';
const jobsTable = 'jobs.batch';
const component = 'cronjob-controller';
const scheduledKey = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

type JobReference = {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
};

type CronJobStatus = {
  readonly active?: readonly JobReference[];
  readonly lastScheduleTime?: string;
  readonly lastSuccessfulTime?: string;
};

type CronJob = StoredObject & {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly suspend?: boolean;
    readonly concurrencyPolicy?: string;
    readonly startingDeadlineSeconds?: number;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      };
      readonly spec: object;
    };
  };
  readonly status?: CronJobStatus;
};

type Setup = ControllerContext & { readonly jobs: ObjectIndex; readonly queue: WorkQueue };

/** Makes a Job at each time of a CronJob's schedule, and deletes those that ended long ago. */
export function cronJobController(context: ControllerContext): Controller {
  const { store } = context;
  const jobs = new ObjectIndex(store, jobsTable, (job) =>
    controllerOf(job)?.kind === 'CronJob' ? [controllerOf(job)?.uid ?? ''] : [],
  );
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync({ ...context, jobs, queue }, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => {
      queue.stop();
      jobs.stop();
    },
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) queue.add(keyOf(namespace, name));
      const owner = change.table === jobsTable ? controllerOf(change.object) : undefined;
      if (owner?.kind === 'CronJob') queue.add(keyOf(namespace, owner.name));
    },
  };
}

const jobsType = (setup: Setup): ResourceType => setup.store.type('batch', 'v1', 'jobs');

function say(
  setup: Setup,
  cronJob: CronJob,
  type: 'Normal' | 'Warning',
  [reason, message]: readonly [string, string],
): void {
  setup.recorder.record(cronJob, { type, reason, message, component });
}

/** `Complete` or `Failed` once a Job has ended. */
function endOf(job: Workload): 'Complete' | 'Failed' | undefined {
  const conditions = job.status?.['conditions'] as Parameters<typeof conditionOf>[0];
  const holds = (type: string): boolean => conditionOf(conditions, type)?.status === 'True';
  if (holds('Complete')) return 'Complete';
  return holds('Failed') ? 'Failed' : undefined;
}

function sync(setup: Setup, key: string): void {
  const cronJob = setup.store.state.table(table).get(key) as CronJob | undefined;
  if (cronJob === undefined) return setup.queue.forget(key);
  removeOldJobs(setup, cronJob);
  const jobs = setup.jobs.get(cronJob.metadata.uid) as readonly Workload[];
  const seen = seenStatus(setup, cronJob, jobs);
  const status =
    cronJob.metadata.deletionTimestamp === undefined ? startDue(setup, cronJob, seen) : seen;
  const current = setup.store.state.table(table).get(key);
  if (current !== undefined && !equalJson(status, cronJob.status ?? {}))
    writeStatus(setup.store, setup.store.type('batch', 'v1', 'cronjobs'), current, status);
}

/** The status without Jobs that ended or went missing. */
function seenStatus(setup: Setup, cronJob: CronJob, jobs: readonly Workload[]): CronJobStatus {
  const before = cronJob.status ?? {};
  const known = new Set((before.active ?? []).map(({ uid }) => uid));
  let { lastSuccessfulTime } = before;
  for (const job of jobs) {
    const { name, uid } = job.metadata;
    const end = endOf(job);
    if (end === undefined && !known.has(uid))
      say(setup, cronJob, 'Warning', [
        'UnexpectedJob',
        `Saw a job that the controller did not create or forgot: ${name}`,
      ]);
    if (end !== undefined && known.delete(uid))
      say(setup, cronJob, 'Normal', [
        'SawCompletedJob',
        `Saw completed job: ${name}, condition: ${end}`,
      ]);
    const doneAt = end === 'Complete' ? (job.status?.['completionTime'] as string) : undefined;
    if (doneAt !== undefined && doneAt > (lastSuccessfulTime ?? '')) lastSuccessfulTime = doneAt;
  }
  const there = new Set(jobs.map(({ metadata }) => metadata.uid));
  for (const { name, uid } of before.active ?? [])
    if (known.has(uid) && !there.has(uid)) {
      known.delete(uid);
      say(setup, cronJob, 'Normal', ['MissingJob', `Active job went missing: ${name}`]);
    }
  const active = (before.active ?? []).filter(({ uid }) => known.has(uid));
  return statusOf(
    { ...before, ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }) },
    active,
  );
}

/** The status with these active Jobs; an empty list is left out, as Kubernetes does. */
function statusOf(status: CronJobStatus, active: readonly JobReference[]): CronJobStatus {
  const { active: _before, ...rest } = status;
  return active.length === 0 ? rest : { ...rest, active };
}

function deleteJob(
  setup: Setup,
  cronJob: CronJob,
  { name, uid }: { readonly name: string; readonly uid: string },
): void {
  const { namespace } = cronJob.metadata;
  setup.store.delete(jobsType(setup), { namespace, name }, { uid, propagation: 'Background' });
  say(setup, cronJob, 'Normal', ['SuccessfulDelete', `Deleted job ${name}`]);
}

/** Deletes the oldest ended Jobs beyond the two limits of history. */
function removeOldJobs(setup: Setup, cronJob: CronJob): void {
  const jobs = setup.jobs.get(cronJob.metadata.uid) as readonly Workload[];
  const startOf = (job: Workload): string =>
    (job.status?.['startTime'] as string | undefined) ?? '~';
  const trim = (end: 'Complete' | 'Failed', limit: number | undefined): void => {
    if (limit === undefined) return;
    const ended = jobs
      .filter((job) => endOf(job) === end && job.metadata.deletionTimestamp === undefined)
      .toSorted((one, other) => (startOf(one) < startOf(other) ? -1 : 1));
    for (const job of ended.slice(0, Math.max(0, ended.length - limit)))
      deleteJob(setup, cronJob, job.metadata);
  };
  trim('Complete', cronJob.spec.successfulJobsHistoryLimit);
  trim('Failed', cronJob.spec.failedJobsHistoryLimit);
}

/** The schedule of a CronJob that may start Jobs now; otherwise its Event says why not. */
function runningSchedule(setup: Setup, cronJob: CronJob): CronSchedule | undefined {
  const { schedule, timeZone, suspend } = cronJob.spec;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    say(setup, cronJob, 'Warning', [
      'UnknownTimeZone',
      `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`,
    ]);
    return undefined;
  }
  return suspend === true ? undefined : cronSchedule(schedule, timeZone);
}

const lastOf = (cronJob: CronJob, status: CronJobStatus): number =>
  Date.parse(status.lastScheduleTime ?? cronJob.metadata.creationTimestamp);

/** Starts the Job that is due, sets the time to look again, and returns the new status. */
function startDue(setup: Setup, cronJob: CronJob, seen: CronJobStatus): CronJobStatus {
  const key = keyOf(cronJob.metadata.namespace, cronJob.metadata.name);
  const schedule = runningSchedule(setup, cronJob);
  setup.queue.forget(key);
  if (schedule === undefined) return seen;
  const nowMs = setup.store.clock.nowMs();
  const { startingDeadlineSeconds } = cronJob.spec;
  const deadlineMs =
    startingDeadlineSeconds === undefined ? undefined : startingDeadlineSeconds * 1000;
  try {
    const due = dueStart(schedule, { sinceMs: lastOf(cronJob, seen), nowMs, deadlineMs });
    const status = startedStatus(setup, cronJob, seen, due);
    const waitMs = untilNextMs(schedule, { sinceMs: lastOf(cronJob, status), nowMs });
    if (waitMs !== undefined) setup.queue.wakeAfter(key, waitMs);
    return status;
  } catch (thrown) {
    if (!(thrown instanceof NoStartsError)) throw thrown;
    say(setup, cronJob, 'Warning', [
      'InvalidSchedule',
      `invalid schedule: ${cronJob.spec.schedule} : ${thrown.message}`,
    ]);
    return seen;
  }
}

const jobNameAt = (cronJob: CronJob, dueMs: number): string =>
  `${cronJob.metadata.name}-${Math.floor(dueMs / 60_000)}`;

function startedStatus(
  setup: Setup,
  cronJob: CronJob,
  seen: CronJobStatus,
  { dueMs, many }: DueStart,
): CronJobStatus {
  if (dueMs === undefined) return seen;
  if (many)
    say(setup, cronJob, 'Warning', [
      'TooManyMissedTimes',
      'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    ]);
  const active = seen.active ?? [];
  if (
    seen.lastScheduleTime === timeText(dueMs) ||
    active.some(({ name }) => name === jobNameAt(cronJob, dueMs))
  )
    return seen;
  const { concurrencyPolicy } = cronJob.spec;
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    say(setup, cronJob, 'Normal', [
      'JobAlreadyActive',
      'Not starting job because prior execution is running and concurrency policy is Forbid',
    ]);
    return seen;
  }
  if (concurrencyPolicy === 'Replace') for (const job of active) deleteJob(setup, cronJob, job);
  const kept = concurrencyPolicy === 'Replace' ? [] : active;
  const job = createJob(setup, cronJob, dueMs);
  return statusOf({ ...seen, lastScheduleTime: timeText(dueMs) }, [...kept, referenceTo(job)]);
}

const referenceTo = (job: StoredObject): JobReference => ({
  kind: 'Job',
  namespace: job.metadata.namespace,
  name: job.metadata.name,
  uid: job.metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: job.metadata.resourceVersion,
});

/** The due time as the annotation has it: in the CronJob's zone, with its offset. */
function zonedText(ms: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(ms)
    .find(({ type }) => type === 'timeZoneName');
  const offset = (parts?.value ?? 'GMT').slice('GMT'.length);
  if (offset === '' || offset === '+00:00') return timeText(ms);
  const [hours = '0', minutes = '0'] = offset.split(':');
  const sign = offset.startsWith('-') ? -1 : 1;
  const shiftMs = (Math.abs(Number(hours)) * 60 + Number(minutes)) * 60_000 * sign;
  return `${timeText(ms + shiftMs).slice(0, -1)}${offset}`;
}

function jobFrom(cronJob: CronJob, dueMs: number): SentObject {
  const { metadata = {}, spec } = cronJob.spec.jobTemplate;
  return {
    metadata: {
      name: jobNameAt(cronJob, dueMs),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: {
        ...metadata.annotations,
        [scheduledKey]: zonedText(dueMs, cronJob.spec.timeZone ?? 'UTC'),
      },
      ownerReferences: [ownedBy(cronJob)],
    },
    spec,
  };
}

/** The Job of that start, which may be there already after a write of the status failed. */
function createJob(setup: Setup, cronJob: CronJob, dueMs: number): StoredObject {
  const { store } = setup;
  const { namespace } = cronJob.metadata;
  const type = jobsType(setup);
  try {
    const job = store.create(type, { namespace, object: jobFrom(cronJob, dueMs) });
    say(setup, cronJob, 'Normal', ['SuccessfulCreate', `Created job ${job.metadata.name}`]);
    return job;
  } catch (thrown) {
    const found = store.find(type, { namespace, name: jobNameAt(cronJob, dueMs) });
    const isThere = thrown instanceof StatusError && thrown.reason === 'AlreadyExists';
    if (isThere && found !== undefined && controllerOf(found)?.uid === cronJob.metadata.uid)
      return found;
    say(setup, cronJob, 'Warning', ['FailedCreate', `Error creating job: ${messageOf(thrown)}`]);
    throw thrown;
  }
}
