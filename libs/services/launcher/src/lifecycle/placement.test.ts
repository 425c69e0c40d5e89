import { annotations, parsePromise, renderPromise } from '@dovetail/core-api';
import { type KubeApi, KubeError } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { defaultLauncherConfig } from '../config.js';
import { kubeWith } from '../testing/launcher-stage.js';
import {
  ec2NodeClasses,
  nodeClaims,
  nodeNameOf,
  nodePools,
  nodes,
  opened,
  openStage,
  pending,
  planned,
  podNamed,
  pods,
  self,
} from '../testing/placing.js';

// No scheduler runs on these stages: what is bound was bound by the launcher.
describe("pods whose place is the scheduler's to choose are left to it, and their neighbours are bound", () => {
  test.each([
    [
      'a volume that waits for its first consumer',
      { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
    ],
    [
      'an ephemeral volume',
      {
        volumes: [
          {
            name: 'scratch',
            ephemeral: {
              volumeClaimTemplate: {
                spec: {
                  accessModes: ['ReadWriteOnce'],
                  storageClassName: 'waiting',
                  resources: { requests: { storage: '1Gi' } },
                },
              },
            },
          },
        ],
      },
    ],
    ['another scheduler', { schedulerName: 'their-own' }],
  ])('%s', async (_kind, spec) => {
    await pending(podObject('left', { spec }), podObject('neighbour'));
    const { plan } = await self.planner.planFor(['left', 'neighbour']);
    expect(plan.newNodes.map((node) => node.podUids.length)).toEqual([2]);
    const node = await opened();
    expect(nodeNameOf(await podNamed('neighbour'))).toBe(node.metadata.name);
    expect(nodeNameOf(await podNamed('left'))).toBe('');
  });

  test.each([
    [
      'resource claims',
      { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] },
      'resource-claims',
    ],
    ['a scheduling gate', { schedulingGates: [{ name: 'example.com/quota' }] }, 'scheduling-gate'],
  ])('%s: not even planned', async (_kind, spec, code) => {
    await pending(podObject('left', { spec }), podObject('neighbour'));
    const { plan } = await self.planner.planFor(['left', 'neighbour']);
    expect(plan.unplaced.map(({ reasons }) => reasons.map((reason) => reason.code))).toEqual([
      [code],
    ]);
    const node = await opened();
    expect(nodeNameOf(await podNamed('neighbour'))).toBe(node.metadata.name);
    expect(nodeNameOf(await podNamed('left'))).toBe('');
  });
});

test('no pod is bound to a node that is to go before it is usable', async () => {
  await openStage({ kubelets: { joinMs: 0, readyMs: 5_000 } });
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  const closed = await self.until('a closed node', async () =>
    (await self.kube.list(nodes)).find(
      ({ metadata }) => metadata.annotations?.[annotations.placementCordon] !== undefined,
    ),
  );
  const ref = { resource: nodes, name: closed.metadata.name };
  const { taints = [] } = closed['spec'] as { readonly taints?: readonly object[] };
  const going = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
  await self.kube.patch(ref, { type: 'merge', body: { spec: { taints: [...taints, going] } } });
  await opened();
  expect(nodeNameOf(await podNamed('a'))).toBe('');
});

describe('a node whose pods are bound', () => {
  test('stays closed until the watch shows the bindings, as until then kube-scheduler may take it for empty', async () => {
    await openStage();
    await self.readyPool();
    let show = (): void => undefined;
    const shown = new Promise<void>((resolve) => {
      show = resolve;
    });
    async function* late<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
      for await (const event of events) {
        // All that happens to the pod once a node is there is that it is bound.
        if ((await self.kube.list(nodes)).length > 0) await shown;
        yield event;
      }
    }
    const watch: KubeApi['watch'] = (watched, stop) =>
      watched.resource.plural === 'pods'
        ? late(self.kube.watch(watched, stop))
        : self.kube.watch(watched, stop);
    self.launcher('one', { ports: { ...self.ports(), kube: kubeWith(self.kube, { watch }) } });
    await self.planningPossible();
    await self.kube.create(pods, podObject('a'));
    await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    await self.until('the pod to be bound', async () => nodeNameOf(await podNamed('a')) !== '');
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    expect(
      (await self.kube.list(nodes)).map(
        (node) => node.metadata.annotations?.[annotations.placementCordon] !== undefined,
      ),
    ).toEqual([true]);
    show();
    expect((await opened()).metadata.name).toBe(nodeNameOf(await podNamed('a')));
  });

  test('waits for all of them, also for those that were bound before another one failed', async () => {
    const { lifecycle } = defaultLauncherConfig;
    const openAfterMs = 20_000;
    await openStage();
    await self.readyPool();
    const atMs = { bound: 0, opened: 0 };
    const bind: KubeApi['bind'] = async (pod, nodeName) => {
      if (pod.name === 'b') {
        await self.kube.delete({ resource: pods, namespace: 'default', name: 'b' });
        throw new KubeError('unavailable', 'the API server is away');
      }
      await self.kube.bind(pod, nodeName);
      atMs.bound = self.clock.nowMs();
    };
    const patch: KubeApi['patch'] = (ref, change, ...rest) => {
      const text = JSON.stringify(change.body);
      if (text.includes(`"${annotations.placementCordon}":null`)) atMs.opened = self.clock.nowMs();
      return self.kube.patch(ref, change, ...rest);
    };
    self.launcher('one', {
      config: { lifecycle: { ...lifecycle, openAfterMs } },
      ports: { ...self.ports(), kube: kubeWith(self.kube, { bind, patch }) },
    });
    await self.planningPossible();
    for (const name of ['a', 'b']) await self.kube.create(pods, podObject(name));
    await self.until("both in the solver's view", () => self.planner.cluster.pods.size === 2);
    expect((await self.planner.planFor(['a', 'b'])).plan.newNodes).toHaveLength(1);
    await opened();
    expect(atMs.bound).toBeGreaterThan(0);
    expect(atMs.opened - atMs.bound).toBeGreaterThanOrEqual(openAfterMs);
  });

  test('also takes the pods that a later plan puts on it while it is closed', async () => {
    const { lifecycle } = defaultLauncherConfig;
    await openStage();
    await self.readyPool();
    self.launcher('one', { config: { lifecycle: { ...lifecycle, openAfterMs: 60_000 } } });
    await self.planningPossible();
    await self.kube.create(pods, podObject('a', { cpu: '2500m' }));
    await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    await self.until('the pod to be bound', async () => nodeNameOf(await podNamed('a')) !== '');
    await self.kube.create(pods, podObject('b', { cpu: '100m' }));
    await self.until(
      "both in the solver's view, on a node",
      () =>
        [...self.planner.cluster.pods.values()].some((pod) => pod.nodeName !== undefined) &&
        self.planner.cluster.pods.size === 2,
    );
    const { plan } = await self.planner.planFor(['b']);
    expect([plan.newNodes.length, plan.placements.length]).toEqual([0, 1]);
    await self.until('the other to be bound', async () => nodeNameOf(await podNamed('b')) !== '');
    expect(nodeNameOf(await podNamed('b'))).toBe(nodeNameOf(await podNamed('a')));
  });
});

test('a pod is promised room on a claim whose promise has ended, without its end', async () => {
  await pending(podObject('a'));
  const { admissionSeen } = await self.planner.planFor(['a']);
  const [claim] = await self.until('a claim', async () => {
    const claims = await self.kube.list(nodeClaims);
    return claims.length > 0 && claims;
  });
  const replaces = { nodeName: 'gone', nodeUid: 'gone' };
  const ended = { podUids: [], admission: '1.1', reserved: { cpu: 1 }, replaces, untilMs: 1 };
  await self.kube.patch(
    { resource: nodeClaims, name: claim?.metadata.name ?? '' },
    {
      type: 'merge',
      body: { metadata: { annotations: { [annotations.promise]: renderPromise(ended) } } },
    },
  );
  await self.until(
    'the claim in the view of solver and launcher',
    async () =>
      [...self.planner.cluster.claims.values()].some(({ annotations: held }) =>
        held[annotations.promise]?.includes('gone'),
      ) && (await self.head())?.number !== admissionSeen.number,
  );
  expect((await self.planner.planFor(['a'])).plan.placements).toHaveLength(1);
  const promise = await self.until('the promise', async () => {
    const [now] = await self.kube.list(nodeClaims);
    const held = parsePromise(now?.metadata.annotations?.[annotations.promise]);
    return held?.podUids.length === 1 && held;
  });
  expect(promise).toEqual({ podUids: promise.podUids, admission: promise.admission });
  expect((await opened()).metadata.name).toBe(nodeNameOf(await podNamed('a')));
});

describe('an open node whose promised room another pod took', () => {
  test('promises nothing any more to the pods that do not fit, which need not wait for its end', async () => {
    await openStage();
    await self.readyPool();
    self.launcher('one', { config: { placement: 'scheduler' } });
    await self.planningPossible();
    const names = ['a', 'b'];
    for (const name of names) await self.kube.create(pods, podObject(name, { cpu: '2500m' }));
    await self.until("both in the solver's view", () => self.planner.cluster.pods.size === 2);
    expect((await self.planner.planFor(names)).plan.newNodes).toHaveLength(1);
    const node = await opened();
    const promised = async (): Promise<number> => {
      const [claim] = await self.kube.list(nodeClaims);
      return (parsePromise(claim?.metadata.annotations?.[annotations.promise])?.podUids ?? [])
        .length;
    };
    expect(await promised()).toBe(2);
    const nodeName = node.metadata.name;
    const intruder = podObject('intruder', { cpu: '4', spec: { nodeName } });
    await self.kube.create(pods, intruder);
    await self.until('one of the two to be free', async () => (await promised()) === 1);
  });

  test('ends the promise of an initialized node as well, to which a plan gave pods when it was open', async () => {
    await openStage();
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    await self.kube.create(pods, podObject('a', { cpu: '2500m' }));
    await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    const { metadata } = await opened();
    await self.kube.create(pods, podObject('b', { cpu: '500m' }));
    await self.until("both in the solver's view", () => self.planner.cluster.pods.size === 2);
    expect((await self.planner.planFor(['b'])).plan.placements).toHaveLength(1);
    const promise = async (): Promise<string | undefined> =>
      (await self.kube.get({ resource: nodes, name: metadata.name }))?.metadata.annotations?.[
        annotations.promise
      ];
    await self.until('the promise', async () => (await promise()) !== undefined);
    const intruder = podObject('intruder', { cpu: '2', spec: { nodeName: metadata.name } });
    await self.kube.create(pods, intruder);
    await self.until('its end', async () => (await promise()) === undefined, 10_000);
  });
});

describe('a node that does not become usable', () => {
  test('is closed for five minutes; then it opens to everyone, and its pods are left to the scheduler', async () => {
    await openStage();
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    await self.kube.create(
      nodePools,
      nodePoolObject('general', {
        node: { startupTaints: [{ key: 'example.com/cni', effect: 'NoSchedule' }] },
      }),
    );
    await planned([podObject('a')]);
    await self.planner.planFor(['a']);
    const closed = await self.until('a closed node', async () =>
      (await self.kube.list(nodes)).find(
        (node) => node.metadata.annotations?.[annotations.placementCordon] !== undefined,
      ),
    );
    expect((closed['spec'] as { readonly unschedulable?: boolean }).unschedulable).toBe(true);
    await self.advance(5 * 60_000 + 1_000);
    const open = await self.until('an open node', async () =>
      (await self.kube.list(nodes)).find(
        (node) => node.metadata.annotations?.[annotations.placementCordon] === undefined,
      ),
    );
    expect((open['spec'] as { readonly unschedulable?: boolean }).unschedulable).toBeUndefined();
    expect(open.metadata.labels?.['karpenter.sh/initialized']).toBeUndefined();
    expect(nodeNameOf(await podNamed('a'))).toBe('');
  });
});

describe('a node that registers and never becomes usable', () => {
  test('keeps no room for its pods after its time: they are planned again, onto another node', async () => {
    await openStage();
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    const stuck = { startupTaints: [{ key: 'example.com/cni', effect: 'NoSchedule' }] };
    await self.kube.create(nodePools, nodePoolObject('general', { node: stuck }));
    await planned([podObject('a')]);
    await self.planner.planFor(['a']);
    const promises = async (): Promise<readonly (string | undefined)[]> =>
      (await self.kube.list(nodeClaims)).map(
        ({ metadata }) => metadata.annotations?.[annotations.promise],
      );
    await self.until('a node', async () => (await self.kube.list(nodes)).length === 1);
    await self.advance(10 * 60_000);
    expect(await promises()).toEqual([expect.stringContaining('podUids')]);
    await self.until('the end of the promise', async () => (await promises())[0] === undefined);
    expect(self.said('node-overdue')).toHaveLength(1);
    await self.until('the mark in the view of the solver', () =>
      [...self.planner.cluster.nodes.values()].some(
        (node) => node.annotations[annotations.overdue] !== undefined,
      ),
    );
    const { plan } = await self.planner.planFor(['a']);
    expect([plan.newNodes.length, plan.placements.length]).toEqual([1, 0]);
  });
});
