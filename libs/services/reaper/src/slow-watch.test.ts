import {
  type KubeApi,
  type KubeResource,
  kubeResources,
  type StopSignal,
} from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  gone,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';

const names = Array.from({ length: 20 }, (_, index) => `n${String(index + 10)}`);

/** The API server, whose watch of one resource shows each change late. */
function lagging(kube: KubeApi, resource: KubeResource, lagMs: number): KubeApi {
  async function* late<T>(events: AsyncIterable<T>, stop: StopSignal): AsyncIterable<T> {
    for await (const event of events) {
      await cluster.clock.sleep(lagMs, stop);
      yield event;
    }
  }
  return Object.assign(Object.create(kube) as KubeApi, {
    watch: ((options, stop) => {
      const events = kube.watch(options, stop);
      return options.resource === resource ? late(events, stop) : events;
    }) satisfies KubeApi['watch'],
  });
}

test.each([
  ['Drifted', 'budgets: 2', 2],
  ['Expired', 'at most five at a time', 5],
])(
  'nodes begin to go as far as they may while the watch is behind: %s, %s',
  async (cause, _by, most) => {
    await started({
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: 'Never',
      budgets: [{ nodes: '2' }],
    });
    for (const name of names)
      await cluster.node(name, {
        cpu: '2',
        ...(cause === 'Expired' ? { expireAfterMs: 60_000 } : {}),
      });
    replacements({ afterMs: 600_000 });
    await cluster.scale('web', names.length * 2);
    await cluster.pass(5);
    reap({ kube: lagging(cluster.kube, kubeResources.nodes, 5_000) });
    await cluster.pass(150);
    if (cause === 'Drifted') for (const name of names) await cluster.drift(name, 'AMIDrift');
    let peak = 0;
    for (let half = 0; half < 60; half += 1) {
      await cluster.pass(0.5);
      peak = Math.max(peak, names.filter((name) => retirementOn(name) !== undefined).length);
    }
    expect(peak).toBe(most);
    expect(names.filter(tainted).length).toBeLessThanOrEqual(most);
  },
);

test('each pod is evicted once, though the watch of pods is behind', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  for (const name of ['n1', 'n2']) await cluster.node(name, { cpu: '8' });
  await cluster.scale('web', 20);
  await cluster.pass(5);
  const evicted: string[] = [];
  const kube = Object.assign(lagging(cluster.kube, kubeResources.pods, 400), {
    evict: ((pod) => {
      evicted.push(pod.name);
      return cluster.kube.evict(pod);
    }) satisfies KubeApi['evict'],
  });
  reap({ kube });
  await cluster.pass(120);
  await cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
  expect(await cluster.pass(240, gone('claim-n1'))).toBe(true);
  expect(evicted.length).toBeGreaterThan(1);
  expect(evicted).toHaveLength(new Set(evicted).size);
});

test('each pod of a node out of time is deleted and counted once, though the watch is behind', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.node('n1', { cpu: '8', terminationGracePeriodMs: 5_000 });
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  for (const name of ['a', 'b']) await cluster.pod(name, name, { annotations });
  await cluster.pass(5);
  const deleted: string[] = [];
  const kube = Object.assign(lagging(cluster.kube, kubeResources.pods, 4_000), {
    delete: ((ref, preconditions) => {
      if (ref.resource === kubeResources.pods) deleted.push(ref.name);
      return cluster.kube.delete(ref, preconditions);
    }) satisfies KubeApi['delete'],
  });
  reap({ kube });
  await cluster.pass(60);
  await cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
  expect(await cluster.pass(240, gone('claim-n1'))).toBe(true);
  expect(deleted.toSorted()).toEqual(['a', 'b']);
  const reason = { reason: 'deleted' };
  expect(cluster.metrics.value('karpenter_pods_drained_total', reason)).toBe(2);
});
