import { annotations, renderPromise } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { defaultReaperConfig } from './config.js';
import {
  cluster,
  decisions,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  stateOf,
  stops,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, nodePools, nodes, pods, provisioners } = kubeResources;

describe('an empty node', () => {
  test('ends consolidateAfter after its last pod went: drained, terminated, finalizers dropped, all of it told', async () => {
    await started();
    const { instanceId } = await cluster.node('n1');
    await cluster.scale('web', 2);
    await cluster.pass(2);
    reap();
    await cluster.pass(40);
    expect(isDeleting('claim-n1')).toBe(false);
    await cluster.scale('web', 0);
    await cluster.pass(29);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(20, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual([]);
    expect(stateOf(instanceId)).toBe('terminated');
    expect(cluster.events('DisruptionTerminating')).toEqual(
      expect.arrayContaining(['Disrupting Node: Empty', 'Disrupting NodeClaim: Empty']),
    );
    expect((await decisions()).map(({ kind }) => kind)).toEqual(['disrupt', 'drain', 'terminate']);
  });

  test('stays when a new pod comes within the time, and counts anew when that goes', async () => {
    await started();
    await cluster.node('n1');
    reap();
    await cluster.pass(25);
    await cluster.scale('web', 1);
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), tainted('n1')]).toEqual([false, false]);
    await cluster.scale('web', 0);
    await cluster.pass(28);
    const said = cluster.log.entries.filter(({ name }) => name.startsWith('emptiness-ttl'));
    expect(said.map(({ message }) => message.replace(/ .*TTL/, ''))).toEqual([
      ...['Added to empty node', 'Removed from node', 'Added to empty node'],
    ]);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(20, gone('claim-n1'))).toBe(true);
  });

  test('keeps its countdown over a restart, and starts one for pods that went while nobody watched', async () => {
    await started();
    await cluster.node('n1');
    const first = reap();
    await cluster.pass(20);
    first.stop.abort();
    await cluster.pass(2);
    reap();
    expect(await cluster.pass(12, () => isDeleting('claim-n1'))).toBe(true);

    await cluster.node('n2');
    await cluster.scale('web', 1);
    await cluster.pass(60);
    for (const stop of stops.splice(0)) stop();
    await cluster.scale('web', 0);
    await cluster.pass(60);
    reap();
    await cluster.pass(25);
    expect(isDeleting('claim-n2')).toBe(false);
    expect(await cluster.pass(10, () => isDeleting('claim-n2'))).toBe(true);
  });

  test('begins its countdown anew when a pod came and ended while no reaper ran', async () => {
    await started();
    await cluster.node('n1');
    const first = reap();
    await cluster.pass(20);
    first.stop.abort();
    await cluster.pass(2);
    await cluster.pod('job', 'job', { spec: { nodeName: 'n1' } });
    await cluster.pass(3);
    await cluster.kube.patch(
      { resource: pods, namespace: 'default', name: 'job' },
      { type: 'merge', body: { status: { phase: 'Succeeded' } } },
      { subresource: 'status' },
    );
    await cluster.pass(10);
    reap();
    await cluster.pass(14);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(20, () => isDeleting('claim-n1'))).toBe(true);
  });

  test('of a Provisioner ends ttlSecondsAfterEmpty after its last pod went', async () => {
    await started();
    await cluster.kube.create(provisioners, {
      apiVersion: 'karpenter.sh/v1alpha5',
      kind: 'Provisioner',
      metadata: { name: 'default' },
      spec: { requirements: [], ttlSecondsAfterEmpty: 10, providerRef: { name: 'default' } },
    });
    await cluster.node('n1', { poolKind: 'Provisioner' });
    reap();
    await cluster.pass(9);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(5, () => isDeleting('claim-n1'))).toBe(true);
  });

  test.each([
    [
      'its pool says consolidateAfter: Never',
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
      {},
      undefined,
    ],
    [
      'its budget is zero',
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s', budgets: [{ nodes: '0' }] },
      {},
      'No allowed disruptions for disruption reason Empty due to blocking budget',
    ],
    [
      'it says do-not-disrupt',
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s' },
      { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    ],
  ])('stays while %s', async (_what, disruption, node, event) => {
    await started(disruption);
    await cluster.node('n1', node);
    reap();
    await cluster.pass(60);
    expect(isDeleting('claim-n1')).toBe(false);
    const told = cluster.events('DisruptionBlocked').join();
    if (event === undefined) expect(told).toBe('');
    else expect(told).toContain(event);
  });

  test('lets go again when a promise was written while it was being tainted', async () => {
    await started();
    await cluster.node('n1');
    await cluster.pod('late', 'web', { spec: { schedulingGates: [{ name: 'wait' }] } });
    const uid = cluster.find(pods, 'late')?.metadata.uid ?? '';
    // The launcher writes its promise at the very moment at which the taint is written: before the
    // reaper looks again.
    cluster.store.state.subscribe((change) => {
      if (
        change.object.metadata.name !== 'n1' ||
        !tainted('n1') ||
        change.object.metadata.annotations?.[annotations.promise] !== undefined
      )
        return;
      queueMicrotask(
        () =>
          void cluster.kube.patch(
            { resource: nodes, name: 'n1' },
            {
              type: 'merge',
              body: {
                metadata: {
                  annotations: {
                    [annotations.promise]: renderPromise({ podUids: [uid], admission: '1.1' }),
                  },
                },
              },
            },
          ),
      );
    });
    reap();
    await cluster.pass(60);
    expect([
      isDeleting('claim-n1'),
      tainted('n1'),
      cluster.find(nodes, 'n1')?.metadata.annotations?.[annotations.retirement],
    ]).toEqual([false, false, undefined]);
    expect(cluster.events('DisruptionBlocked')).toContain('Node is nominated for a pending pod');
  });

  test('is not tainted over and over while the watch of pods is silent', async () => {
    await started({
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: '0s',
      budgets: [{ nodes: '100%' }],
    });
    await cluster.node('n1');
    await cluster.pod('p1', 'web');
    await cluster.pass(2);
    async function* silent<T extends { readonly kind: string }>(
      events: AsyncIterable<T>,
    ): AsyncGenerator<T> {
      for await (const event of events) if (event.kind === 'synced') yield event;
    }
    const watch: KubeApi['watch'] = (watched, stop) =>
      watched.resource.plural === 'pods'
        ? silent(cluster.kube.watch(watched, stop))
        : cluster.kube.watch(watched, stop);
    let taints = 0;
    let was = false;
    cluster.store.state.subscribe(() => {
      const is = tainted('n1');
      if (is && !was) taints += 1;
      was = is;
    });
    reap({ kube: { ...cluster.kube, watch } });
    await cluster.pass(150);
    // At once, and after 10, 20, 40 and 80 seconds.
    expect([taints >= 2, taints <= 5, isDeleting('claim-n1')]).toEqual([true, true, false]);
  });

  test('is let go again when one of its pods cannot be read', async () => {
    await started();
    await cluster.node('n1');
    const odd = { metadata: { name: 'odd', namespace: 'default' }, spec: { containers: 7 } };
    const list: KubeApi['list'] = (resource, options) =>
      options?.fieldSelector === 'spec.nodeName=n1'
        ? Promise.resolve([odd])
        : cluster.kube.list(resource, options);
    reap({ kube: { ...cluster.kube, list } });
    await cluster.pass(45);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([false, false]);
    expect(cluster.events('DisruptionBlocked').join()).toContain('cannot be read');
  });

  test('goes with others only as far as the budget allows at once', async () => {
    await started({
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: '5s',
      budgets: [{ nodes: '1' }],
    });
    for (const name of ['n1', 'n2', 'n3']) await cluster.node(name);
    let most = 0;
    // A node whose instance is ending already counts no more (Karpenter's rule).
    const ending = (name: string) =>
      JSON.stringify(cluster.find(nodeClaims, `claim-${name}`)?.['status'] ?? '').includes(
        'InstanceTerminating',
      );
    cluster.store.state.subscribe(() => {
      most = Math.max(
        most,
        ['n1', 'n2', 'n3'].filter((name) => tainted(name) && !ending(name)).length,
      );
    });
    reap();
    expect(await cluster.pass(120, () => cluster.names(nodeClaims).length === 0)).toBe(true);
    expect(most).toBe(1);
  });
});

test('a drain does not wait for solvers that think about other nodes', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const old = ['old-1', 'old-2', 'old-3', 'old-4'];
  for (const name of old) await cluster.node(name, { cpu: '1', expireAfterMs: 30_000 });
  await cluster.scale('web', 4);
  await cluster.pass(3);
  await cluster.node('n1');
  const made = replacements({ afterMs: 600_000, thinkMs: 4_500 });
  reap({ config: { termination: { ...defaultReaperConfig.termination, concurrency: 2 } } });
  expect(await cluster.pass(40, () => made.requests.length > 0, 250)).toBe(true);
  await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
  await cluster.pass(1, undefined, 250);
  expect(tainted('n1')).toBe(true);
});

test('an empty node of a static pool stays', async () => {
  await started();
  const { metadata: _, ...pool } = present(cluster.find(nodePools, 'default'), 'the pool is there');
  const spec = { ...(pool['spec'] as object), replicas: 1 };
  await cluster.kube.create(nodePools, { ...pool, metadata: { name: 'static' }, spec });
  await cluster.node('n1', { pool: 'static' });
  reap();
  await cluster.pass(60);
  expect([isDeleting('claim-n1'), tainted('n1')]).toEqual([false, false]);
});

test('a retirement that this release cannot read is taken off with its taint', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.node('n1');
  const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
  const newer = { [annotations.retirement]: '{"cause":"drifted","atMs":1}' };
  await cluster.kube.patch(
    { resource: nodes, name: 'n1' },
    { type: 'merge', body: { metadata: { annotations: newer }, spec: { taints } } },
  );
  reap();
  await cluster.pass(3);
  const held = cluster.find(nodes, 'n1')?.metadata.annotations?.[annotations.retirement];
  expect([tainted('n1'), held]).toEqual([false, undefined]);
});

describe('a taint without a retirement', () => {
  const taint = (name: string) =>
    cluster.kube.patch(
      { resource: nodes, name },
      {
        type: 'merge',
        body: { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } },
      },
    );
  const ours = { claimAnnotations: { [annotations.admission]: '1.1/plan/bin-0' } };

  test.each<[string, object, number, boolean]>([
    ['stays on a node of ours for a while', ours, 50, true],
    ['is then taken away as left over', ours, 70, false],
    ['stays on a node that Karpenter may be retiring', {}, 3_500, true],
    ['is taken away there once Karpenter has given up', {}, 3_700, false],
  ])('%s', async (_sentence, node, seconds, stays) => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', node);
    await taint('n1');
    reap();
    await cluster.pass(seconds, undefined, 10_000);
    expect(tainted('n1')).toBe(stays);
  });

  test('stays on a node whose claim is being deleted, although the watch does not show it', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', ours);
    async function* first<T extends { readonly kind: string }>(
      events: AsyncIterable<T>,
    ): AsyncGenerator<T> {
      let isListed = false;
      for await (const event of events) {
        if (!isListed) yield event;
        isListed ||= event.kind === 'synced';
      }
    }
    const watch: KubeApi['watch'] = (watched, stop) =>
      watched.resource.plural === nodeClaims.plural
        ? first(cluster.kube.watch(watched, stop))
        : cluster.kube.watch(watched, stop);
    reap({ kube: { ...cluster.kube, watch } });
    await cluster.pass(2);
    await taint('n1');
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(120, undefined, 5_000);
    expect(tainted('n1')).toBe(true);
  });
});
