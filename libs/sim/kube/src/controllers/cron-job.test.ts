import { expect, test } from 'vitest';

import { createKubeStore, createManualClock, startKubeControllers } from '../index.js';
import type { StoredObject } from '../model/objects.js';

const startMs = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;

const template = {
  spec: {
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox:1' }] },
    },
  },
};

/** A cluster with CronJobs and without the controller that runs Jobs: the test ends them. */
const setup = (spec: object) => {
  const clock = createManualClock(startMs);
  const store = createKubeStore({ clock, seed: 1 });
  const errors: unknown[] = [];
  startKubeControllers(store, {
    without: ['job', 'scheduler'],
    onError: (...error) => errors.push(error),
  });
  const jobs = store.type('batch', 'v1', 'jobs');
  const cronJobs = store.type('batch', 'v1', 'cronjobs');
  const ref = { namespace: 'default', name: 'c' };
  store.create(cronJobs, {
    namespace: 'default',
    object: { metadata: { name: 'c' }, spec: { jobTemplate: template, ...spec } },
  });
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  };
  /** Moves the clock in one step, and a second more, as the controller waits a little longer. */
  const pass = async (minutes: number) => {
    await settle();
    clock.advance(minutes * minuteMs + 1000);
    await settle();
    clock.advance(-1000);
  };
  const end = async (name: string, type: 'Complete' | 'Failed', seconds = 0) => {
    const at = new Date(clock.nowMs() + seconds * 1000).toISOString();
    const status = {
      startTime: at,
      ...(type === 'Complete' ? { completionTime: at } : {}),
      conditions: [{ type, status: 'True' }],
    };
    const job = store.get(jobs, { namespace: 'default', name }) as StoredObject;
    store.update(
      jobs,
      { namespace: 'default', name, object: { ...job, status } },
      { subresource: 'status' },
    );
    await settle();
  };
  const names = () => store.list(jobs).items.map(({ metadata }) => metadata.name);
  const status = () => store.get(cronJobs, ref)['status'] as Record<string, unknown>;
  const events = () =>
    store
      .list(store.type('', 'v1', 'events'))
      .items.map((event) => `${String(event['reason'])}: ${String(event['message'])}`);
  return { clock, store, jobs, cronJobs, ref, pass, settle, end, names, status, events, errors };
};

/** The name of the Job of the start so many minutes after the beginning. */
const at = (minutes: number): string => `c-${startMs / minuteMs + minutes}`;

test('makes a Job at each start, lists it as active until it ends, and notes the last success', async () => {
  const world = setup({ schedule: '*/5 * * * *' });
  await world.pass(5);
  expect(world.names()).toEqual([at(5)]);
  expect(world.status()).toMatchObject({
    active: [{ kind: 'Job', apiVersion: 'batch/v1', name: at(5), namespace: 'default' }],
    lastScheduleTime: '2026-01-01T00:05:00Z',
  });
  await world.end(at(5), 'Complete');
  expect(world.status()).not.toHaveProperty('active');
  expect(world.status()).toHaveProperty('lastSuccessfulTime');
  expect(world.events().toSorted()).toEqual([
    `SawCompletedJob: Saw completed job: ${at(5)}, condition: Complete`,
    `SuccessfulCreate: Created job ${at(5)}`,
  ]);
  expect(world.errors).toEqual([]);
});

test.each([
  ['Allow', [at(5), at(10)], [at(5), at(10)]],
  ['Forbid', [at(5)], [at(5)]],
  ['Replace', [at(10)], [at(10)]],
])('with the policy %s a second start leaves %j', async (concurrencyPolicy, names, active) => {
  const world = setup({ schedule: '*/5 * * * *', concurrencyPolicy });
  await world.pass(5);
  await world.pass(5);
  expect(world.names()).toEqual(names);
  expect((world.status()['active'] as readonly { name: string }[]).map(({ name }) => name)).toEqual(
    active,
  );
});

test('of many missed starts only the latest is made up for, with a warning', async () => {
  const world = setup({ schedule: '* * * * *' });
  await world.pass(300);
  expect(world.names()).toEqual([at(300)]);
  expect(world.events()).toContain(
    'TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
  );
});

test('a start missed for longer than the deadline is given up', async () => {
  const world = setup({ schedule: '0 * * * *', startingDeadlineSeconds: 120, suspend: true });
  await world.pass(70);
  const resumed = world.store.get(world.cronJobs, world.ref);
  world.store.update(world.cronJobs, {
    ...world.ref,
    object: { ...resumed, spec: { ...(resumed['spec'] as object), suspend: false } },
  });
  await world.settle();
  expect(world.names()).toEqual([]);
  await world.pass(50);
  expect(world.names()).toEqual([at(120)]);
});

test('keeps as many ended Jobs as the limits of history say', async () => {
  const world = setup({
    schedule: '* * * * *',
    successfulJobsHistoryLimit: 1,
    failedJobsHistoryLimit: 0,
  });
  for (const minute of [1, 2, 3, 4]) {
    await world.pass(1);
    await world.end(at(minute), minute === 3 ? 'Failed' : 'Complete');
  }
  expect(world.names()).toEqual([at(4)]);
  expect(world.events()).toContain(`SuccessfulDelete: Deleted job ${at(1)}`);
});

test('the annotation of a Job has its start in the zone of the schedule', async () => {
  const world = setup({ schedule: '30 5 * * *', timeZone: 'Asia/Kolkata' });
  await world.pass(24 * 60);
  const [job] = world.store.list(world.jobs).items;
  expect(job?.metadata.annotations).toEqual({
    'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-02T05:30:00+05:30',
  });
});

test('a Job that was deleted is taken off the active ones', async () => {
  const world = setup({ schedule: '0 * * * *' });
  await world.pass(60);
  world.store.delete(world.jobs, { namespace: 'default', name: at(60) });
  await world.settle();
  expect(world.status()).not.toHaveProperty('active');
  expect(world.events()).toContain(`MissingJob: Active job went missing: ${at(60)}`);
});

test('changes of a CronJob and of its Jobs leave one timer', async () => {
  const world = setup({ schedule: '0 0 1 1 *' });
  let timers = 0;
  const { after } = world.clock;
  world.clock.after = (delayMs, run) => {
    timers += 1;
    const cancel = after(delayMs, run);
    return () => {
      timers -= 1;
      cancel();
    };
  };
  await world.settle();
  const before = timers;
  for (const note of ['a', 'b', 'c']) {
    world.store.patch(world.cronJobs, {
      ...world.ref,
      patch: { type: 'merge', body: { metadata: { labels: { note } } } },
    });
    await world.settle();
  }
  expect(timers).toBe(before);
});
