import { kubeResources } from '@dovetail/core-ports';
import { beforeAll, describe, expect, test } from 'vitest';

import { extra, pod } from './objects.js';
import { type Context, eventually } from './suite.js';

type Fields = Readonly<Record<string, unknown>>;

const refuses = 'is forbidden: ';
const bare = { name: 'main', image: 'pause:3.9' };
const using = (resources: Fields): Fields => ({ containers: [{ ...bare, resources }] });

/** The name of the case, the quota, the pod, and the API server's words; no words: it may be. */
const quotaCases: readonly (readonly [string, Fields, Fields, string])[] = [
  [
    'a pod without the requests and limits that it counts',
    { hard: { 'requests.cpu': '1', 'limits.memory': '1Gi' } },
    { containers: [bare] },
    'failed quota: few: must specify limits.memory for: main; requests.cpu for: main',
  ],
  [
    'a pod whose init container names nothing',
    { hard: { cpu: '1' } },
    { ...using({ requests: { cpu: '1' } }), initContainers: [{ ...bare, name: 'first' }] },
    'failed quota: few: must specify cpu for: first',
  ],
  [
    'a pod whose init container limits are above it',
    { hard: { 'limits.cpu': '1' } },
    {
      ...using({ limits: { cpu: '1' } }),
      initContainers: [{ ...bare, name: 'first', resources: { limits: { cpu: '1500m' } } }],
    },
    'exceeded quota: few, requested: limits.cpu=1500m, used: limits.cpu=0, limited: limits.cpu=1',
  ],
  [
    'local storage above it',
    { hard: { 'ephemeral-storage': '1Gi' } },
    using({ requests: { 'ephemeral-storage': '2Gi' } }),
    'exceeded quota: few, requested: ephemeral-storage=2Gi, used: ephemeral-storage=0, limited: ephemeral-storage=1Gi',
  ],
  [
    'a pod of its scope BestEffort',
    { hard: { pods: '0' }, scopes: ['BestEffort'] },
    { containers: [bare] },
    'exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
  ],
  ['no pod outside its scope BestEffort', { hard: { pods: '0' }, scopes: ['BestEffort'] }, {}, ''],
  [
    'a pod with a deadline, of its scope Terminating',
    { hard: { pods: '0' }, scopes: ['Terminating'] },
    { activeDeadlineSeconds: 60 },
    'exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
  ],
  ['no pod without a deadline', { hard: { pods: '0' }, scopes: ['Terminating'] }, {}, ''],
  [
    'a pod of the priority class that it names',
    {
      hard: { pods: '0' },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['under-quota'] }],
      },
    },
    { priorityClassName: 'under-quota' },
    'exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
  ],
  [
    'no pod of another priority class',
    {
      hard: { pods: '0' },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['under-quota'] }],
      },
    },
    {},
    '',
  ],
];

const limitRangeCases: readonly (readonly [string, Fields, Fields, string])[] = [
  [
    'a container without a limit',
    { type: 'Pod', max: { cpu: '1' } },
    using({ requests: { cpu: '1' } }),
    'maximum cpu usage per Pod is 1.  No limit is specified',
  ],
  [
    'a container above its maximum',
    { type: 'Container', max: { cpu: '1' } },
    using({ limits: { cpu: '2' } }),
    'maximum cpu usage per Container is 1, but limit is 2',
  ],
  [
    'an init container below its minimum',
    { type: 'Container', min: { memory: '1Gi' } },
    {
      ...using({ requests: { memory: '1Gi' } }),
      initContainers: [{ ...bare, name: 'first', resources: { requests: { memory: '1Mi' } } }],
    },
    'minimum memory usage per Container is 1Gi, but request is 1Mi',
  ],
  [
    'containers that are above its maximum together',
    { type: 'Pod', max: { cpu: '1' } },
    {
      containers: ['a', 'b'].map((name) => ({
        ...bare,
        name,
        resources: { limits: { cpu: '600m' } },
      })),
    },
    'maximum cpu usage per Pod is 1, but limit is 1200m',
  ],
];

const limitRanges = {
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
} as const;

/** How a pod's creation ends: its refusal's words, or nothing. The pod itself is gone again. */
async function outcome({ world }: Context, namespace: string, spec: Fields): Promise<string> {
  const { kube } = world();
  const refusal = await kube
    .create(kubeResources.pods, pod(namespace, 'one', { schedulerName: 'nobody', ...spec }))
    .then(
      () => '',
      (thrown: unknown) => String(thrown),
    );
  if (refusal === '') await kube.delete({ resource: kubeResources.pods, namespace, name: 'one' });
  return refusal;
}

const priorityClasses = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  namespaced: false,
} as const;

function quotas(context: Context): void {
  beforeAll(async () => {
    await context
      .world()
      .kube.create(priorityClasses, { metadata: { name: 'under-quota' }, value: 7 });
  });

  test.each(quotaCases)('a quota refuses %s', async (_what, spec, podSpec, words) => {
    const own = await context.namespace();
    const { kube } = context.world();
    await kube.create(extra.quotas, { metadata: { name: 'few', namespace: own }, spec });
    const ref = { resource: extra.quotas, namespace: own, name: 'few' };
    await eventually(
      () => kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('used'),
    );
    const refusal = await outcome(context, own, podSpec);
    if (words === '') expect(refusal).toBe('');
    else expect(refusal).toContain(`${refuses}${words}`);
  });
}

function ranges(context: Context): void {
  test.each(limitRangeCases)('a LimitRange refuses %s', async (_what, item, podSpec, words) => {
    const own = await context.namespace();
    await context
      .world()
      .kube.create(limitRanges, {
        metadata: { name: 'range', namespace: own },
        spec: { limits: [item] },
      });
    // The API server's admission reads LimitRanges from a cache that follows them.
    const refusal = await eventually(
      () => outcome(context, own, podSpec),
      (text) => text !== '',
    );
    expect(refusal).toContain(`${refuses}${words}`);
  });
}

/** The API server's admission: the pods that quotas and LimitRanges of a namespace refuse. */
export function admission(context: Context): void {
  describe('admission', () => {
    quotas(context);
    ranges(context);
  });
}
