import { compareText } from '@dovetail/core-kube-model';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { deployment, extra, instance, pod, statefulSet, template } from './objects.js';
import { type Context, eventually } from './suite.js';

const { pods, nodes, events, podDisruptionBudgets, daemonSets } = kubeResources;

type PodShape = KubeObject & {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};
const zones = { w1: 'zone-a', w2: 'zone-b', w3: 'zone-c' } as const;

const podsIn = async ({ world }: Context, namespace: string): Promise<readonly PodShape[]> =>
  (await world().kube.list(pods, { namespace })) as readonly PodShape[];
const running = (list: readonly PodShape[]): readonly PodShape[] =>
  list.filter(
    (one) => one.status.phase === 'Running' && one.metadata.deletionTimestamp === undefined,
  );
const runningIn = (
  context: Context,
  namespace: string,
  count: number,
): Promise<readonly PodShape[]> =>
  eventually(
    () => podsIn(context, namespace),
    (list) => running(list).length === count && list.length === count,
  );
const messagesIn = async (
  { world }: Context,
  namespace: string,
  reason: string,
): Promise<readonly string[]> =>
  (await world().kube.list(events, { namespace }))
    .filter((event) => event['reason'] === reason)
    .map((event) => String(event['message']));

function schedulingTests(context: Context): void {
  const { world, namespace } = context;
  test('a deployment becomes running pods, and its status says so', async () => {
    const own = await namespace();
    await world().kube.create(extra.deployments, deployment(own, 'web', 3));
    expect(running(await runningIn(context, own, 3))).toHaveLength(3);
    const ref = { resource: extra.deployments, namespace: own, name: 'web' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('NewReplicaSetAvailable'),
    );
    expect(done?.['status']).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
  });

  test('a pod that fits nowhere says why, in the scheduler’s words', async () => {
    const own = await namespace();
    await world().kube.create(
      pods,
      pod(own, 'big', {
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '64' } } }],
      }),
    );
    const message =
      '0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.';
    const unscheduled = (list: readonly PodShape[]): boolean =>
      list[0]?.status.conditions?.[0]?.reason === 'Unschedulable';
    expect(
      (await eventually(() => podsIn(context, own), unscheduled))[0]?.status.conditions,
    ).toMatchObject([{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]);
    expect(
      await eventually(
        () => messagesIn(context, own, 'FailedScheduling'),
        (list) => list.length > 0,
      ),
    ).toContain(message);
  });

  test.each([
    [
      'a selector that no node has',
      { nodeSelector: { nothing: 'here' } },
      "3 node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'a required affinity to pods that are not there',
      {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { app: 'none' } },
              },
            ],
          },
        },
      },
      "3 node(s) didn't match pod affinity rules",
    ],
    [
      'a spread over a key that no node has',
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'rack',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'x' } },
          },
        ],
      },
      "3 node(s) didn't match pod topology spread constraints (missing required label)",
    ],
  ])('%s is named', async (_what, spec, words) => {
    const own = await namespace();
    await world().kube.create(pods, pod(own, 'p', spec));
    const [message = ''] = await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    expect(message).toContain(`0/3 nodes are available: ${words}.`);
  });

  test('a taint that nothing tolerates is named with its key', async () => {
    const own = await namespace();
    const taint = (taints: unknown): Promise<unknown> =>
      Promise.all(
        Object.keys(zones).map((name) =>
          world().kube.patch(
            { resource: nodes, name },
            { type: 'merge', body: { spec: { taints } } },
          ),
        ),
      );
    await taint([{ key: 'team', value: 'one', effect: 'NoSchedule' }]);
    await world().kube.create(pods, pod(own, 'p'));
    const [message] = await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    await taint(null);
    expect(message).toContain('3 node(s) had untolerated taint');
    expect(running(await runningIn(context, own, 1))).toHaveLength(1);
  });

  test('a hard zonal spread is level; gated pods and pods of other schedulers are left alone', async () => {
    const own = await namespace();
    const spread = {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'a' } },
    };
    await world().kube.create(
      pods,
      pod(own, 'gated', { schedulingGates: [{ name: 'example.com/wait' }] }),
    );
    await world().kube.create(pods, pod(own, 'other', { schedulerName: 'another' }));
    await world().kube.create(
      extra.deployments,
      deployment(own, 'even', 6, { topologySpreadConstraints: [spread] }),
    );
    const all = await eventually(
      () => podsIn(context, own),
      (list) => running(list).length === 6,
    );
    const perNode = Object.keys(zones).map(
      (name) => running(all).filter((one) => one.spec.nodeName === name).length,
    );
    expect(perNode).toEqual([2, 2, 2]);
    expect(
      all
        .filter((one) => one.spec.nodeName === undefined)
        .map((one) => [one.metadata.name, one.status.conditions?.[0]?.reason]),
    ).toEqual([
      ['gated', 'SchedulingGated'],
      ['other', undefined],
    ]);
  });

  test('anti-affinity by host keeps pods apart and the surplus pending', async () => {
    const own = await namespace();
    const antiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } },
      ],
    };
    await world().kube.create(
      extra.deployments,
      deployment(own, 'apart', 4, { affinity: { podAntiAffinity: antiAffinity } }),
    );
    const all = await eventually(
      () => podsIn(context, own),
      (list) => running(list).length === 3,
    );
    expect(new Set(running(all).map((one) => one.spec.nodeName)).size).toBe(3);
    expect(
      await eventually(
        () => messagesIn(context, own, 'FailedScheduling'),
        (list) => list.length > 0,
      ),
    ).toEqual(
      expect.arrayContaining([
        expect.stringContaining("3 node(s) didn't match pod anti-affinity rules"),
      ]),
    );
  });
}

function controllerTests(context: Context): void {
  const { world, namespace } = context;
  test('a daemonset runs on every node, the cordoned one too', async () => {
    const own = await namespace();
    const cordon = (unschedulable: boolean | null): Promise<unknown> =>
      world().kube.patch(
        { resource: nodes, name: 'w1' },
        { type: 'merge', body: { spec: { unschedulable } } },
      );
    await cordon(true);
    await world().kube.create(daemonSets, {
      metadata: { name: 'agent', namespace: own },
      spec: { selector: { matchLabels: { app: 'a' } }, template: template() },
    });
    const all = await runningIn(context, own, 3);
    await cordon(null);
    expect(all.map((one) => one.spec.nodeName).sort()).toEqual(['w1', 'w2', 'w3']);
    const ref = { resource: daemonSets, namespace: own, name: 'agent' };
    expect(
      await eventually(
        () => world().kube.get(ref),
        (one) => (one?.['status'] as { numberAvailable?: number }).numberAvailable === 3,
      ),
    ).toMatchObject({
      status: {
        desiredNumberScheduled: 3,
        currentNumberScheduled: 3,
        numberReady: 3,
        numberAvailable: 3,
        updatedNumberScheduled: 3,
        numberMisscheduled: 0,
      },
    });
  });

  test('a job whose containers end completes', async () => {
    const own = await namespace();
    const spec = {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'busybox', command: ['sleep', '0.2'] }],
    };
    await world().kube.create(extra.jobs, {
      metadata: { name: 'once', namespace: own },
      spec: { completions: 2, parallelism: 1, template: { spec } },
    });
    const ref = { resource: extra.jobs, namespace: own, name: 'once' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('"Complete"'),
      30_000,
    );
    expect(done?.['status']).toMatchObject({
      succeeded: 2,
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Complete', status: 'True' }),
      ]) as unknown,
    });
  }, 40_000);

  test('a full quota refuses the rest; the event names the quota', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.quotas, {
      metadata: { name: 'few', namespace: own },
      spec: { hard: { pods: '2' } },
    });
    const ref = { resource: extra.quotas, namespace: own, name: 'few' };
    await eventually(
      () => kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('used'),
    );
    await kube.create(extra.deployments, deployment(own, 'many', 5));
    const failures = await eventually(
      () => messagesIn(context, own, 'FailedCreate'),
      (list) => list.length > 0,
    );
    expect(failures[0]).toMatch(
      /^Error creating: pods "many-\w+-\w+" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2$/,
    );
    expect(await runningIn(context, own, 2)).toHaveLength(2);
    await expect(kube.create(pods, pod(own, 'one-more'))).rejects.toMatchObject({ code: 'denied' });
  });

  test('a budget lets go one at a time', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(podDisruptionBudgets, {
      metadata: { name: 'web', namespace: own },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'a' } } },
    });
    await kube.create(
      extra.deployments,
      deployment(own, 'web', 3, { nodeSelector: { 'kubernetes.io/hostname': 'w3' } }),
    );
    const cordon = (unschedulable: boolean | null): Promise<unknown> =>
      kube.patch(
        { resource: nodes, name: 'w3' },
        { type: 'merge', body: { spec: { unschedulable } } },
      );
    const [first, second] = running(await runningIn(context, own, 3)).map((one) => ({
      namespace: own,
      name: one.metadata.name,
      uid: one.metadata.uid as string,
    }));
    const ref = { resource: podDisruptionBudgets, namespace: own, name: 'web' };
    const budget = await eventually(
      () => kube.get(ref),
      (one) =>
        (one?.['status'] as { disruptionsAllowed?: number } | undefined)?.disruptionsAllowed === 1,
    );
    expect(budget?.['status']).toMatchObject({
      disruptionsAllowed: 1,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
    });
    if (first === undefined || second === undefined) throw new Error('three pods were to run');
    await cordon(true); // No pod takes the first one's place before the node is uncordoned.
    expect(await kube.evict(first)).toBe('evicted');
    await expect(kube.evict(second)).rejects.toMatchObject({ code: 'too-many-requests' });
    expect(
      await eventually(
        () => kube.evict(first).catch(() => 'evicted'),
        (answer) => answer === 'gone',
      ),
    ).toBe('gone');
    await cordon(null);
    await eventually(
      () => kube.get(ref),
      (one) => (one?.['status'] as { disruptionsAllowed?: number }).disruptionsAllowed === 1,
    );
    expect(await kube.evict(second)).toBe('evicted');
  });

  test('a NoExecute taint drives out what does not tolerate it', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(pods, pod(own, 'out', { nodeSelector: { 'kubernetes.io/hostname': 'w2' } }));
    await runningIn(context, own, 1);
    await kube.patch(
      { resource: nodes, name: 'w2' },
      { type: 'merge', body: { spec: { taints: [{ key: 'leave', effect: 'NoExecute' }] } } },
    );
    const left = await eventually(
      () => podsIn(context, own),
      (list) => list.length === 0,
    );
    await kube.patch(
      { resource: nodes, name: 'w2' },
      { type: 'merge', body: { spec: { taints: null } } },
    );
    expect(left).toEqual([]);
  });

  test('deleting a deployment deletes what it made; orphaning leaves it', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.deployments, deployment(own, 'a', 2));
    await runningIn(context, own, 2);
    await kube.delete(
      { resource: extra.deployments, namespace: own, name: 'a' },
      { propagation: 'Orphan' },
    );
    const sets = await eventually(
      () => kube.list(kubeResources.replicaSets, { namespace: own }),
      (list) => (list[0]?.metadata.ownerReferences ?? []).length === 0,
    );
    expect(sets).toHaveLength(1);
    await kube.delete({
      resource: kubeResources.replicaSets,
      namespace: own,
      name: sets[0]?.metadata.name ?? '',
    });
    expect(
      await eventually(
        () => podsIn(context, own),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
  });
}

function statefulSetTests(context: Context): void {
  const { world, namespace } = context;
  const ordered = async (own: string): Promise<readonly PodShape[]> =>
    [...(await podsIn(context, own))].sort((left, right) =>
      compareText(left.metadata.name, right.metadata.name),
    );

  test('a StatefulSet starts its pods one after the other, by ordinal, and its status says so', async () => {
    const own = await namespace();
    await world().kube.create(extra.statefulSets, statefulSet(own, 'db', 3));
    await runningIn(context, own, 3);
    const all = await ordered(own);
    expect(all.map((one) => one.metadata.name)).toEqual(['db-0', 'db-1', 'db-2']);
    const times = all.map(
      (one) =>
        [
          Date.parse(one.metadata.creationTimestamp as string),
          one.metadata.labels?.['apps.kubernetes.io/pod-index'],
        ] as const,
    );
    expect(times).toEqual(
      [...times].sort((left, right) => left[0] - right[0] || Number(left[1]) - Number(right[1])),
    );
    expect(all[1]).toMatchObject({
      metadata: {
        labels: { 'statefulset.kubernetes.io/pod-name': 'db-1' },
        ownerReferences: [{ kind: 'StatefulSet', name: 'db' }],
      },
      spec: { hostname: 'db-1', subdomain: 'db' },
    });
    const ref = { resource: extra.statefulSets, namespace: own, name: 'db' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) =>
        (one?.['status'] as { availableReplicas?: number } | undefined)?.availableReplicas === 3,
    );
    expect(done?.['status']).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
    });
  });

  test('a pod of a StatefulSet that goes comes back under its name; fewer replicas take the last ordinal first', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.statefulSets, statefulSet(own, 'db', 3));
    await runningIn(context, own, 3);
    const first = (await ordered(own))[0]?.metadata.uid;
    await kube.delete({ resource: pods, namespace: own, name: 'db-0' });
    const again = await eventually(
      () => ordered(own),
      (list) => running(list).length === 3 && list[0]?.metadata.uid !== first,
    );
    expect(again.map((one) => one.metadata.name)).toEqual(['db-0', 'db-1', 'db-2']);
    await kube.patch(
      { resource: extra.statefulSets, namespace: own, name: 'db' },
      { type: 'merge', body: { spec: { replicas: 2 } } },
    );
    expect(
      (
        await eventually(
          () => ordered(own),
          (list) => list.length === 2,
        )
      ).map((one) => one.metadata.name),
    ).toEqual(['db-0', 'db-1']);
  });

  test('the claims of a StatefulSet are made per ordinal and outlive its pods', async () => {
    const own = await namespace();
    const { kube } = world();
    const claim = {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'none-such',
        resources: { requests: { storage: '1Gi' } },
      },
    };
    await kube.create(
      extra.statefulSets,
      statefulSet(own, 'db', 1, { volumeClaimTemplates: [claim] }),
    );
    const [waiting] = await eventually(
      () => podsIn(context, own),
      (list) => list.length === 1,
    );
    expect(waiting?.spec).toMatchObject({
      volumes: expect.arrayContaining([
        { name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } },
      ]) as unknown,
    });
    const said = await eventually(
      () => messagesIn(context, own, 'SuccessfulCreate'),
      (list) => list.length === 2,
    );
    expect([...said].sort()).toEqual([
      'create Claim data-db-0 Pod db-0 in StatefulSet db success',
      'create Pod db-0 in StatefulSet db successful',
    ]);
    await kube.delete({ resource: extra.statefulSets, namespace: own, name: 'db' });
    expect(
      await eventually(
        () => podsIn(context, own),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
    expect(
      (await kube.list(kubeResources.persistentVolumeClaims, { namespace: own })).map(
        (one) => one.metadata.name,
      ),
    ).toEqual(['data-db-0']);
  });
}

/** The scheduler and the controllers, with our kubelets on three nodes. */
export function workloads(context: Context): void {
  describe('workloads on three nodes', () => {
    beforeAll(async () => {
      const { agent, kube } = context.world();
      for (const [name, zone] of Object.entries(zones))
        agent.boot(instance(name, { labels: { 'topology.kubernetes.io/zone': zone } }));
      await eventually(
        () => kube.list(nodes),
        (list) =>
          list.filter((node) => JSON.stringify(node['status']).includes('KubeletReady')).length ===
          3,
      );
    }, 30_000);
    afterAll(() => undefined);
    schedulingTests(context);
    controllerTests(context);
    statefulSetTests(context);
  });
}
