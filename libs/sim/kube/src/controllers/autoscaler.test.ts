import { describe, expect, test } from 'vitest';

import { createKubeStore, createManualClock, startKubeControllers } from '../index.js';
import type { Pod, StoredObject, Workload } from '../model/objects.js';

const cpu = (target: object) => [{ type: 'Resource', resource: { name: 'cpu', target } }];
const percent = (averageUtilization: number) => cpu({ type: 'Utilization', averageUtilization });

/** A Deployment with an autoscaler on a clock of the test's. All pods run, but if it says so. */
const setup = (spec: object, settings: { replicas?: number; annotations?: object } = {}) => {
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const store = createKubeStore({ clock, seed: 1 });
  const errors: unknown[] = [];
  startKubeControllers(store, {
    without: ['scheduler'],
    onError: (...error) => errors.push(error),
  });
  const pods = store.type('', 'v1', 'pods');
  const deployments = store.type('apps', 'v1', 'deployments');
  const autoscalers = store.type('autoscaling', 'v2', 'horizontalpodautoscalers');
  const web = { namespace: 'default', name: 'web' };
  const requests = { cpu: '1', memory: '2Gi' };
  store.create(deployments, {
    namespace: 'default',
    object: {
      metadata: { name: 'web', annotations: settings.annotations as Record<string, string> },
      spec: {
        replicas: settings.replicas ?? 2,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'main', image: 'web:1', resources: { requests } }] },
        },
      },
    },
  });
  store.create(autoscalers, {
    namespace: 'default',
    object: {
      metadata: { name: 'web' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        maxReplicas: 10,
        ...spec,
      },
    },
  });
  const settle = async () => {
    for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate);
  };
  const run = () => {
    for (const pod of store.list(pods).items as Pod[])
      if (pod.status?.phase === 'Pending')
        store.update(
          pods,
          {
            ...pod.metadata,
            object: {
              ...pod,
              status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
            },
          },
          { subresource: 'status' },
        );
  };
  /** So many looks of the autoscaler, one each 15 s; before each, new pods become ready. */
  const looks = async (count: number, ready = true) => {
    for (let look = 0; look < count; look += 1) {
      await settle();
      if (ready) run();
      await settle();
      clock.advance(15_000);
      await settle();
    }
  };
  const annotate = (annotations: object) =>
    store.patch(deployments, {
      ...web,
      patch: { type: 'merge', body: { metadata: { annotations } } },
    });
  const replicas = () => (store.get(deployments, web) as Workload).spec.replicas;
  const autoscaler = () => store.get(autoscalers, web) as StoredObject & { status: Status };
  const condition = (type: string) =>
    autoscaler().status.conditions.find((one) => one.type === type);
  const events = () =>
    store
      .list(store.type('', 'v1', 'events'))
      .items.filter(({ involvedObject }) =>
        (involvedObject as { kind: string }).kind.startsWith('Hor'),
      )
      .map((event) => `${String(event['reason'])}: ${String(event['message'])}`);
  return { store, looks, annotate, replicas, autoscaler, condition, events, errors, web };
};
type Status = Readonly<Record<string, unknown>> & {
  readonly conditions: readonly { type: string; status: string; reason: string; message: string }[];
};

test('a load of 3.6 cores at 60 % takes six pods, at most twice as many at once, and then stays', async () => {
  const world = setup(
    { metrics: percent(60) },
    { annotations: { 'lab.dovetail.sh/cpu-total': '3600m' } },
  );
  await world.looks(1);
  expect(world.replicas()).toBe(4);
  expect(world.condition('ScalingLimited')).toMatchObject({
    status: 'True',
    reason: 'ScaleUpLimit',
    message: 'the desired replica count is increasing faster than the maximum scale rate',
  });
  await world.looks(3);
  expect(world.replicas()).toBe(6);
  expect(world.autoscaler().status).toMatchObject({
    currentReplicas: 6,
    desiredReplicas: 6,
    currentMetrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', current: { averageUtilization: 60, averageValue: '600m' } },
      },
    ],
  });
  expect(world.events().toSorted()).toEqual([
    'SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target',
    'SuccessfulRescale: New size: 6; reason: cpu resource utilization (percentage of request) above target',
  ]);
  expect(world.errors).toEqual([]);
});

test('a load that goes down takes pods away after five minutes', async () => {
  const world = setup(
    { metrics: percent(60), minReplicas: 2 },
    { replicas: 6, annotations: { 'lab.dovetail.sh/cpu-total': '3600m' } },
  );
  await world.looks(1);
  world.annotate({ 'lab.dovetail.sh/cpu-total': '600m' });
  await world.looks(10);
  expect(world.replicas()).toBe(6);
  expect(world.condition('AbleToScale')).toMatchObject({ reason: 'ScaleDownStabilized' });
  await world.looks(14);
  expect(world.replicas()).toBe(2);
  expect(world.condition('ScalingLimited')).toMatchObject({ reason: 'TooFewReplicas' });
  expect(world.events()).toContain(
    'SuccessfulRescale: New size: 2; reason: All metrics below target',
  );
});

describe('the pods for a use', () => {
  test.each([
    ['within a tenth of the target', percent(60), { 'cpu-percent': '65' }, 2],
    ['above it', percent(60), { 'cpu-percent': '90' }, 3],
    ['in cores', cpu({ type: 'AverageValue', averageValue: '500m' }), { 'cpu-total': '2' }, 4],
    [
      'in bytes',
      [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
        },
      ],
      { 'memory-percent': '75' },
      3,
    ],
    [
      'of two metrics, by the one that needs more',
      [
        ...percent(60),
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
      { 'cpu-percent': '60', 'memory-total': '4Gi' },
      4,
    ],
  ])('%s', async (_what, metrics, annotations, replicas) => {
    const own = Object.entries(annotations).map(([key, value]) => [
      `lab.dovetail.sh/${key}`,
      value,
    ]);
    const world = setup({ metrics }, { annotations: Object.fromEntries(own) as object });
    await world.looks(1);
    expect(world.replicas()).toBe(replicas);
  });
});

test('pods that are not ready yet count as idle, so that one load is not answered twice', async () => {
  const world = setup(
    { metrics: percent(60) },
    { annotations: { 'lab.dovetail.sh/cpu-total': '2400m' } },
  );
  await world.looks(1);
  expect(world.replicas()).toBe(4);
  await world.looks(4, false);
  expect(world.replicas()).toBe(4);
});

describe('the policies of behavior', () => {
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }];
  test('let one pod a minute come', async () => {
    const world = setup(
      { metrics: percent(50), behavior: { scaleUp: { policies } } },
      { annotations: { 'lab.dovetail.sh/cpu-total': '5' } },
    );
    await world.looks(1);
    expect(world.replicas()).toBe(3);
    await world.looks(3);
    expect(world.replicas()).toBe(3);
    await world.looks(1);
    expect(world.replicas()).toBe(4);
    expect(world.condition('ScalingLimited')).toMatchObject({ reason: 'ScaleUpLimit' });
  });

  test.each([
    ['forbid that pods go', { selectPolicy: 'Disabled' }, 4],
    ['let one go at once without a window', { policies, stabilizationWindowSeconds: 0 }, 3],
  ])('%s', async (_what, scaleDown, replicas) => {
    const world = setup(
      {
        metrics: percent(50),
        behavior: { scaleDown: { stabilizationWindowSeconds: 0, ...scaleDown } },
      },
      { replicas: 4, annotations: { 'lab.dovetail.sh/cpu-total': '500m' } },
    );
    await world.looks(3);
    expect(world.replicas()).toBe(replicas);
  });

  test('wait for the lowest need of a window before pods come', async () => {
    const world = setup(
      { metrics: percent(50), behavior: { scaleUp: { stabilizationWindowSeconds: 60 } } },
      { annotations: { 'lab.dovetail.sh/cpu-percent': '50' } },
    );
    await world.looks(2);
    world.annotate({ 'lab.dovetail.sh/cpu-percent': '90' });
    await world.looks(2);
    expect(world.replicas()).toBe(2);
    expect(world.condition('AbleToScale')).toMatchObject({ reason: 'ScaleUpStabilized' });
    await world.looks(4);
    expect(world.replicas()).toBeGreaterThan(2);
  });
});

test.each([
  ['above', 14, 10, 'Current number of replicas above Spec.MaxReplicas'],
  ['below', 1, 3, 'Current number of replicas below Spec.MinReplicas'],
])(
  'a workload %s its bounds is brought back without a metric',
  async (_way, before, after, why) => {
    const world = setup({ minReplicas: 3 }, { replicas: before });
    await world.looks(1);
    expect(world.replicas()).toBe(after);
    expect(world.events()).toEqual([`SuccessfulRescale: New size: ${after}; reason: ${why}`]);
  },
);

test('a workload of no pods is left alone', async () => {
  const world = setup({}, { replicas: 0 });
  await world.looks(2);
  expect(world.replicas()).toBe(0);
  expect(world.condition('ScalingActive')).toMatchObject({
    status: 'False',
    reason: 'ScalingDisabled',
  });
});

test.each([
  [
    'no annotation',
    {},
    'failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)',
  ],
  [
    'a word for a percentage',
    { 'lab.dovetail.sh/cpu-percent': 'high' },
    'failed to get cpu utilization: the annotation lab.dovetail.sh/cpu-percent of Deployment web is "high": give a percentage, as 75',
  ],
  [
    'less than nothing',
    { 'lab.dovetail.sh/cpu-total': '-1' },
    'failed to get cpu utilization: the annotation lab.dovetail.sh/cpu-total of Deployment web is "-1": give cores, as 2500m',
  ],
])(
  'with %s the autoscaler says what is missing, and scales nothing',
  async (_what, annotations, why) => {
    const world = setup({ metrics: percent(60) }, { annotations });
    await world.looks(2);
    expect(world.replicas()).toBe(2);
    expect(world.condition('ScalingActive')).toMatchObject({
      status: 'False',
      reason: 'FailedGetResourceMetric',
      message: `the HPA was unable to compute the replica count: ${why}`,
    });
    expect(world.events()).toContain(`FailedGetResourceMetric: ${why}`);
  },
);

test('with one metric missing, pods come by the other and none goes', async () => {
  const pods = {
    type: 'Pods',
    pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '5' } },
  };
  const world = setup(
    { metrics: [pods, ...percent(60)] },
    { annotations: { 'lab.dovetail.sh/cpu-percent': '90' } },
  );
  await world.looks(1);
  expect(world.replicas()).toBe(3);
  expect(world.events()).toContain(
    'FailedGetPodsMetric: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
  );
  world.annotate({ 'lab.dovetail.sh/cpu-percent': '10' });
  await world.looks(30);
  expect(world.replicas()).toBe(3);
});

test('an autoscaling/v1 client reads and writes the same object, with all that v1 has no field for', async () => {
  const world = setup(
    { metrics: percent(60), behavior: { scaleDown: { selectPolicy: 'Disabled' } } },
    { annotations: { 'lab.dovetail.sh/cpu-percent': '60' } },
  );
  await world.looks(1);
  const v1 = world.store.type('autoscaling', 'v1', 'horizontalpodautoscalers');
  const before = world.autoscaler();
  const read = world.store.get(v1, world.web);
  expect(read).toMatchObject({
    apiVersion: 'autoscaling/v1',
    spec: { targetCPUUtilizationPercentage: 60, maxReplicas: 10 },
    status: { currentCPUUtilizationPercentage: 60, currentReplicas: 2 },
  });
  world.store.update(v1, {
    ...world.web,
    object: { ...read, spec: { ...(read['spec'] as object), maxReplicas: 12 } },
  });
  const after = world.autoscaler();
  expect(after['spec']).toEqual({ ...(before['spec'] as object), maxReplicas: 12 });
  expect(after.status).toEqual(before.status);
  expect(after.metadata.annotations).toBeUndefined();
  world.store.update(
    v1,
    { ...world.web, object: world.store.get(v1, world.web) },
    { subresource: 'status' },
  );
  expect(world.autoscaler().status).toEqual(before.status);
});
