import { type KubeObject } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import { extra } from './objects.js';
import { type Context, eventually } from './suite.js';
import { messagesIn } from './workload-pods.js';

type Fields = Readonly<Record<string, unknown>>;

const podSpec = (command: readonly string[], restartPolicy = 'Never'): Fields => ({
  restartPolicy,
  terminationGracePeriodSeconds: 0,
  containers: [{ name: 'main', image: 'busybox', command }],
});

const cronJob = (
  name: string,
  spec: Fields,
  pod: Fields = podSpec(['sleep', '0.1']),
): KubeObject & { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name },
  spec: { jobTemplate: { spec: { template: { spec: pod } } }, ...spec },
});

/** kubectl's answer to the creation of an object. */
const applied = async ({ world }: Context, namespace: string, object: unknown): Promise<string> =>
  (await world().kubectl(['-n', namespace, 'create', '-f', '-'], JSON.stringify(object))).out;

const refused: readonly (readonly [what: string, object: KubeObject, words: string])[] = [
  [
    'a schedule with one field',
    cronJob('bad', { schedule: 'error' }),
    'spec.schedule: Invalid value: "error": expected exactly 5 fields, found 1: [error]',
  ],
  [
    'a minute of 61',
    cronJob('bad', { schedule: '61 * * * *' }),
    'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
  ],
  [
    'a seventh day of the week',
    cronJob('bad', { schedule: '0 0 * * 7' }),
    'spec.schedule: Invalid value: "0 0 * * 7": end of range (7) above maximum (6): 7',
  ],
  [
    'a word for a number',
    cronJob('bad', { schedule: 'x * * * *' }),
    'spec.schedule: Invalid value: "x * * * *": failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
  ],
  [
    'a descriptor that there is not',
    cronJob('bad', { schedule: '@often' }),
    'spec.schedule: Invalid value: "@often": unrecognized descriptor: @often',
  ],
  [
    'a zone within the schedule',
    cronJob('bad', { schedule: 'TZ=UTC 0 0 * * *' }),
    'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
  ],
  [
    'a zone that there is not',
    cronJob('bad', { schedule: '@daily', timeZone: 'Mars/Olympus' }),
    'spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus',
  ],
  [
    'an unknown policy',
    cronJob('bad', { schedule: '@daily', concurrencyPolicy: 'Never' }),
    'spec.concurrencyPolicy: Unsupported value: "Never": supported values: "Allow", "Forbid", "Replace"',
  ],
  [
    'a negative limit',
    cronJob('bad', { schedule: '@daily', failedJobsHistoryLimit: -1 }),
    'spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    'pods that restart always',
    cronJob('bad', { schedule: '@daily' }, podSpec(['true'], 'Always')),
    'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ],
  [
    'a name of 53 letters',
    cronJob('a'.repeat(53), { schedule: '@daily' }),
    `metadata.name: Invalid value: "${'a'.repeat(53)}": must be no more than 52 characters`,
  ],
];

/** The names of the Jobs of a namespace. */
const jobsIn = async ({ world }: Context, namespace: string): Promise<readonly string[]> =>
  (await world().kube.list(extra.jobs, { namespace })).map(({ metadata }) => metadata.name);

const statusOf = async ({ world }: Context, namespace: string, name: string): Promise<Fields> =>
  ((await world().kube.get({ resource: extra.cronJobs, namespace, name }))?.['status'] ??
    {}) as Fields;

function kubectlCases(context: Context): void {
  const { world, namespace } = context;
  test.each(refused)('refuses a cron job with %s', async (_what, object, words) =>
    expect((await applied(context, await namespace(), object)).trim()).toBe(
      `The CronJob "${object.metadata.name}" is invalid: ${words}`,
    ),
  );

  test('create cronjob, get -o wide, set suspend by patch, and create job --from', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> =>
      (await world().kubectl(['-n', own, ...args])).out;
    expect(
      await run('create', 'cronjob', 'nightly', '--image=busybox', '--schedule=0 3 * * *'),
    ).toBe('cronjob.batch/nightly created\n');
    expect(await run('get', 'cj', '-o', 'wide')).toMatch(
      /^NAME\s+SCHEDULE\s+TIMEZONE\s+SUSPEND\s+ACTIVE\s+LAST SCHEDULE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\nnightly\s+0 3 \* \* \*\s+<none>\s+False\s+0\s+<none>\s+\d+s\s+nightly\s+busybox\s+<none>\n$/,
    );
    expect(await run('patch', 'cronjob', 'nightly', '-p', '{"spec":{"suspend":true}}')).toBe(
      'cronjob.batch/nightly patched\n',
    );
    expect(
      await run('get', 'cronjob', 'nightly', '-o', 'jsonpath={.metadata.generation} {.spec}'),
    ).toBe(
      '2 {"concurrencyPolicy":"Allow","failedJobsHistoryLimit":1,"jobTemplate":{"metadata":{"name":"nightly"},"spec":{"template":{"metadata":{},"spec":{"containers":[{"image":"busybox","imagePullPolicy":"Always","name":"nightly","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"OnFailure","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}},"schedule":"0 3 * * *","successfulJobsHistoryLimit":3,"suspend":true}',
    );
    expect(await run('create', 'job', 'by-hand', '--from=cronjob/nightly')).toBe(
      'job.batch/by-hand created\n',
    );
    expect(
      await eventually(
        () => messagesIn(context, own, 'UnexpectedJob'),
        (list) => list.length > 0,
      ),
    ).toEqual(['Saw a job that the controller did not create or forgot: by-hand']);
    expect(await run('describe', 'cronjob', 'nightly')).toMatch(
      /Schedule:\s+0 3 \* \* \*\n[^]*Concurrency Policy:\s+Allow\nSuspend:\s+True\nSuccessful Job History Limit:\s+3\nFailed Job History Limit:\s+1\n/,
    );
  });
}

/** CronJobs: their rules, and the Jobs that they make. */
export function cronJobTests(context: Context): void {
  const { world, namespace } = context;
  describeWithKubectl('kubectl and cron jobs', () => kubectlCases(context));

  test('a cron job makes a job named by the minute, and sees it complete', async () => {
    const own = await namespace();
    const { kube } = world();
    const made = cronJob('tick', { schedule: '@every 2s' });
    await kube.create(extra.cronJobs, { ...made, metadata: { name: 'tick', namespace: own } });
    const names = await eventually(
      () => jobsIn(context, own),
      (list) => list.length > 0,
    );
    const status = await eventually(
      () => statusOf(context, own, 'tick'),
      (one) => one['lastSuccessfulTime'] !== undefined,
    );
    const [name = ''] = names;
    expect(name).toMatch(/^tick-\d{8}$/);
    expect(status['lastScheduleTime']).toEqual(expect.any(String));
    const job = await kube.get({ resource: extra.jobs, namespace: own, name });
    expect(job?.metadata.ownerReferences).toMatchObject([
      { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', controller: true },
    ]);
    expect(job?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp']).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    );
    const says = (reason: string, message: string): Promise<readonly string[]> =>
      eventually(
        () => messagesIn(context, own, reason),
        (list) => list.includes(message),
      );
    expect(await says('SuccessfulCreate', `Created job ${name}`)).toContain(`Created job ${name}`);
    const completed = `Saw completed job: ${name}, condition: Complete`;
    expect(await says('SawCompletedJob', completed)).toContain(completed);
  });

  test('a cron job lists the job that runs as active', async () => {
    const own = await namespace();
    const { kube } = world();
    const spec = { schedule: '@every 1s', concurrencyPolicy: 'Replace' };
    await kube.create(extra.cronJobs, {
      ...cronJob('slow', spec, podSpec(['sleep', '300'])),
      metadata: { name: 'slow', namespace: own },
    });
    const status = await eventually(
      () => statusOf(context, own, 'slow'),
      (one) => one['active'] !== undefined,
    );
    expect(status['active']).toMatchObject([
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        name: expect.stringMatching(/^slow-\d{8}$/) as unknown,
        namespace: own,
        uid: expect.any(String) as unknown,
      },
    ]);
  });

  test('deleting a cron job deletes its jobs', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.cronJobs, {
      ...cronJob('gone', { schedule: '@every 1s' }),
      metadata: { name: 'gone', namespace: own },
    });
    await eventually(
      () => jobsIn(context, own),
      (list) => list.length > 0,
    );
    await kube.delete({ resource: extra.cronJobs, namespace: own, name: 'gone' });
    expect(
      await eventually(
        () => jobsIn(context, own),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
  });

  test('a cron job whose schedule has no times says so', async () => {
    const own = await namespace();
    await world().kube.create(extra.cronJobs, {
      ...cronJob('never', { schedule: '59 23 31 2 *' }),
      metadata: { name: 'never', namespace: own },
    });
    expect(
      await eventually(
        () => messagesIn(context, own, 'InvalidSchedule'),
        (list) => list.length > 0,
      ),
    ).toEqual([
      'invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
    ]);
  });
}
