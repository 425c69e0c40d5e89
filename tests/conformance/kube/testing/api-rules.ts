import { type KubeApi, type KubeObject, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { instance, pod } from './objects.js';
import { type Context, eventually } from './suite.js';

const { pods, nodes, leases } = kubeResources;

type Refusal = readonly [
  what: string,
  code: string,
  act: (kube: KubeApi, namespace: string) => Promise<unknown>,
];

const refusals: readonly Refusal[] = [
  [
    'creating a name twice',
    'already-exists',
    (kube, namespace) => kube.create(pods, pod(namespace, 'here')),
  ],
  [
    'an object without what its kind requires',
    'invalid',
    (kube, namespace) =>
      kube.create(pods, { metadata: { name: 'b', namespace }, spec: { containers: [] } }),
  ],
  [
    'a name that is no DNS name',
    'invalid',
    (kube, namespace) => kube.create(pods, pod(namespace, 'Not_A_Name')),
  ],
  [
    'a null among tolerations, which counts as one without fields,',
    'invalid',
    (kube, namespace) => kube.create(pods, pod(namespace, 'b', { tolerations: [null] })),
  ],
  ['a namespace that is not there', 'not-found', (kube) => kube.create(pods, pod('nowhere', 'b'))],
  [
    'a resource that is not served',
    'no-such-resource',
    (kube) => kube.list({ ...pods, group: 'nothing.example', plural: 'nothings' }),
  ],
  [
    'a change of what is fixed in a pod',
    'invalid',
    (kube, namespace) =>
      kube.patch(
        { resource: pods, namespace, name: 'here' },
        { type: 'merge', body: { spec: { nodeName: 'x' } } },
      ),
  ],
  [
    'a patch of an older version',
    'conflict',
    (kube, namespace) =>
      kube.patch(
        { resource: pods, namespace, name: 'here' },
        { type: 'merge', body: { metadata: { resourceVersion: '1', labels: { a: 'b' } } } },
      ),
  ],
  [
    'a patch of something that is not there',
    'not-found',
    (kube, namespace) =>
      kube.patch({ resource: pods, namespace, name: 'gone' }, { type: 'merge', body: {} }),
  ],
  [
    'a JSON patch whose test fails',
    'invalid',
    (kube, namespace) =>
      kube.patch(
        { resource: pods, namespace, name: 'here' },
        { type: 'json', body: [{ op: 'test', path: '/metadata/name', value: 'x' }] },
      ),
  ],
  [
    'a field selector on a field without index',
    'invalid',
    (kube) => kube.list(pods, { fieldSelector: 'spec.hostname=x' }),
  ],
];

function refusalTests({ world, namespace }: Context): void {
  test.each(refusals.map((row) => [...row] as const))(
    '%s is answered %s',
    async (_what, code, act) => {
      const own = await namespace();
      await world().kube.create(pods, pod(own, 'here', { schedulerName: 'nobody' }));
      await expect(act(world().kube, own)).rejects.toMatchObject({ name: 'KubeError', code });
    },
  );
}

function writeTests({ world, namespace }: Context): void {
  test('a pod gets the defaults of its kind, canonical quantities, and none of the status that was sent', async () => {
    const own = await namespace();
    const sent = pod(own, 'a', {
      schedulerName: 'nobody',
      containers: [
        { name: 'main', image: 'pause', resources: { limits: { memory: '1024Mi', cpu: 0.5 } } },
      ],
    });
    const made = await world().kube.create(pods, { ...sent, status: { phase: 'Running' } });
    expect(made).toMatchObject({
      spec: {
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        enableServiceLinks: true,
        tolerations: [
          {
            key: 'node.kubernetes.io/not-ready',
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 300,
          },
          { key: 'node.kubernetes.io/unreachable' },
        ],
        containers: [
          {
            imagePullPolicy: 'Always',
            resources: {
              limits: { memory: '1Gi', cpu: '500m' },
              requests: { memory: '1Gi', cpu: '500m' },
            },
          },
        ],
      },
      status: { phase: 'Pending', qosClass: 'Guaranteed' },
    });
  });

  test('a write that changes nothing keeps the resourceVersion; the status subresource leaves the spec alone', async () => {
    const own = await namespace();
    const { kube } = world();
    const made = await kube.create(pods, pod(own, 'a', { schedulerName: 'nobody' }));
    const ref = { resource: pods, namespace: own, name: 'a' };
    expect(
      (await kube.patch(ref, { type: 'merge', body: { metadata: { labels: null } } })).metadata
        .resourceVersion,
    ).toBe(made.metadata.resourceVersion);
    const after = await kube.patch(
      ref,
      { type: 'merge', body: { spec: { priority: 7 }, status: { message: 'hello' } } },
      { subresource: 'status' },
    );
    expect(after).toMatchObject({ spec: { priority: 0 }, status: { message: 'hello' } });
  });

  test('a null in a map or a list of a pod is the zero value of its type', async () => {
    const own = await namespace();
    const { containers: [main] = [], ...spec } = pod(own, 'a')['spec'] as { containers?: object[] };
    const made = await world().kube.create(pods, {
      metadata: { name: 'a', namespace: own, labels: { l: null }, annotations: { n: null } },
      spec: {
        ...spec,
        schedulerName: 'nobody',
        nodeSelector: { s: null },
        containers: [{ ...main, args: [null, 'b'], resources: { requests: { cpu: null } } }],
      },
    } as unknown as KubeObject);
    expect(made).toMatchObject({
      metadata: { labels: { l: '' }, annotations: { n: '' } },
      spec: {
        nodeSelector: { s: '' },
        containers: [{ args: ['', 'b'], resources: { requests: { cpu: '0' } } }],
      },
    });
  });

  test('a Lease is taken by whoever names its version', async () => {
    const own = await namespace();
    const { kube } = world();
    const lease = await kube.create(leases, {
      metadata: { name: 'l', namespace: own },
      spec: { holderIdentity: 'a', renewTime: '2026-01-01T00:00:00.000000Z' },
    });
    const mine = await kube.replace(leases, {
      ...lease,
      spec: { holderIdentity: 'b' },
    } as KubeObject);
    await expect(
      kube.replace(leases, { ...lease, spec: { holderIdentity: 'c' } } as KubeObject),
    ).rejects.toMatchObject({ code: 'conflict' });
    expect(mine).toMatchObject({ spec: { holderIdentity: 'b' } });
  });

  test('generated names are the prefix and five letters', async () => {
    const own = await namespace();
    const made = await world().kube.create(pods, {
      ...pod(own, 'x', { schedulerName: 'nobody' }),
      metadata: { generateName: 'web-', namespace: own },
    } as unknown as KubeObject);
    expect(made.metadata.name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });
}

function deletionTests({ world, namespace }: Context): void {
  test('finalizers hold a deleted object, and no new ones are taken', async () => {
    const own = await namespace();
    const { kube } = world();
    const ref = { resource: pods, namespace: own, name: 'a' };
    await kube.create(
      pods,
      pod(own, 'a', { schedulerName: 'nobody' }, { finalizers: ['example.com/hold'] }),
    );
    await kube.delete(ref);
    expect((await kube.get(ref))?.metadata.deletionTimestamp).toBeDefined();
    await expect(
      kube.patch(ref, {
        type: 'merge',
        body: { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } },
      }),
    ).rejects.toMatchObject({ code: 'invalid' });
    await kube.patch(ref, { type: 'merge', body: { metadata: { finalizers: null } } });
    expect(await kube.get(ref)).toBeUndefined();
  });

  test('deleting by uid leaves another object of the same name', async () => {
    const own = await namespace();
    const { kube } = world();
    const ref = { resource: pods, namespace: own, name: 'a' };
    await kube.create(pods, pod(own, 'a', { schedulerName: 'nobody' }));
    await kube.delete(ref, { uid: '00000000-0000-4000-8000-000000000000' });
    expect(await kube.get(ref)).toBeDefined();
    await kube.delete(ref);
    await kube.delete(ref);
    expect(await kube.get(ref)).toBeUndefined();
  });

  test('a bound pod waits for its kubelet, as long as its grace period', async () => {
    const own = await namespace();
    const { kube } = world();
    const made = await kube.create(
      pods,
      pod(own, 'a', { schedulerName: 'nobody', terminationGracePeriodSeconds: 40 }),
    );
    const id = { namespace: own, name: 'a', uid: made.metadata.uid as string };
    await kube.bind(id, 'no-such-node');
    await expect(kube.bind(id, 'another-node')).rejects.toMatchObject({ code: 'conflict' });
    const ref = { resource: pods, namespace: own, name: 'a' };
    await kube.delete(ref);
    expect(await kube.get(ref)).toMatchObject({ metadata: { deletionGracePeriodSeconds: 40 } });
    await kube.delete(ref, { gracePeriodSeconds: 0 });
    expect(await kube.get(ref)).toBeUndefined();
  });
}

function watchTests({ world, namespace }: Context): void {
  test('a watch tells what is there, then synced, then changes; leaving a selector is going', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(
      pods,
      pod(own, 'a', { schedulerName: 'nobody' }, { labels: { watched: own } }),
    );
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of kube.watch(
        {
          resource: pods,
          labelSelector: `watched=${own}`,
          project: (object) => object.metadata.name,
        },
        stop.signal,
      )) {
        seen.push(
          event.kind === 'set'
            ? `set ${event.value}`
            : event.kind === 'gone'
              ? `gone ${event.name}`
              : 'synced',
        );
        if (event.kind === 'gone') stop.abort();
      }
    })();
    await eventually(
      () => Promise.resolve(seen),
      () => seen.includes('synced'),
    );
    await kube.create(
      pods,
      pod(own, 'b', { schedulerName: 'nobody' }, { labels: { watched: own } }),
    );
    await kube.patch(
      { resource: pods, namespace: own, name: 'b' },
      { type: 'merge', body: { metadata: { labels: { watched: 'no-more' } } } },
    );
    await watching;
    expect(seen).toEqual(['set a', 'synced', 'set b', 'gone b']);
  });

  test('label and field selectors choose', async () => {
    const own = await namespace();
    const { kube } = world();
    for (const [name, tier] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', undefined],
    ] as const) {
      await kube.create(
        pods,
        pod(own, name, { schedulerName: 'nobody' }, tier === undefined ? {} : { labels: { tier } }),
      );
    }
    const names = async (selection: object): Promise<readonly string[]> =>
      (await kube.list(pods, { namespace: own, ...selection })).map((one) => one.metadata.name);
    expect(await names({ labelSelector: 'tier in (x,y)' })).toEqual(['a', 'b']);
    expect(await names({ labelSelector: 'tier!=x' })).toEqual(['b', 'c']);
    expect(await names({ labelSelector: '!tier' })).toEqual(['c']);
    expect(await names({ fieldSelector: 'metadata.name!=a,status.phase=Pending' })).toEqual([
      'b',
      'c',
    ]);
    expect(await names({ fieldSelector: 'spec.nodeName=' })).toEqual(['a', 'b', 'c']);
  });

  test('a node keeps the status it was created with, and its providerID once it has one', async () => {
    const { kube, agent } = world();
    agent.boot(instance('rules-node'));
    const ref = { resource: nodes, name: 'rules-node' };
    await eventually(
      () => kube.get(ref),
      (node) => JSON.stringify(node?.['status'] ?? '').includes('KubeletReady'),
    );
    expect(await kube.get(ref)).toMatchObject({
      status: { allocatable: { cpu: '4' }, nodeInfo: { kubeletVersion: 'v1.34.0' } },
    });
    await expect(
      kube.patch(ref, { type: 'merge', body: { spec: { providerID: 'aws:///other/i-1' } } }),
    ).rejects.toMatchObject({ code: 'invalid' });
    agent.halt('rules-node');
    await kube.delete(ref);
  });
}

/** The promises of the KubeApi port that the services rely on. */
export function apiRules(context: Context): void {
  describe('the rules of the API', () => {
    refusalTests(context);
    writeTests(context);
    deletionTests(context);
    watchTests(context);
  });
}
