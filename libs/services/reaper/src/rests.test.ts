import type { Condition } from '@dovetail/core-api';
import { isoSeconds } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import { conditionsIn } from '@dovetail/service-kit';
import { describe, expect, test } from 'vitest';

import { cluster, isDeleting, reap, started } from './testing/current-cluster.js';

const { nodeClaims, nodePools } = kubeResources;
/** Empty nodes stay, so that only the status is seen. */
const resting = (consolidateAfter = '30s') => ({
  consolidationPolicy: 'WhenEmpty',
  consolidateAfter,
  budgets: [{ nodes: '0' }],
});

const conditions = (): readonly Condition[] =>
  conditionsIn(cluster.find(nodeClaims, 'claim-n1') ?? {});
const consolidatable = (): Condition | undefined =>
  conditions().find(({ type }) => type === 'Consolidatable');
const lastPodEventTime = (): unknown =>
  (cluster.find(nodeClaims, 'claim-n1')?.['status'] as { lastPodEventTime?: unknown })
    .lastPodEventTime;

/** Counts the changes of `lastPodEventTime` from here on. */
function podEventWrites(): { readonly count: () => number } {
  let [was, writes] = [lastPodEventTime(), 0];
  cluster.store.state.subscribe(() => {
    const is = lastPodEventTime();
    if (is !== was) writes += 1;
    was = is;
  });
  return { count: () => writes };
}

describe('a claim', () => {
  test('is Consolidatable consolidateAfter past its initialisation, and keeps its other conditions', async () => {
    await started(resting());
    await cluster.node('n1');
    const others = conditions();
    reap();
    await cluster.pass(25);
    expect(consolidatable()).toBeUndefined();
    expect(await cluster.pass(10, () => consolidatable() !== undefined)).toBe(true);
    expect(consolidatable()).toMatchObject({ status: 'True', reason: 'Consolidatable' });
    expect(conditions().filter(({ type }) => type !== 'Consolidatable')).toEqual(others);
  });

  test('says in the condition that consolidation is off where its pool asks for it', async () => {
    await started({ ...resting('5s'), consolidationPolicy: 'WhenEmptyOrUnderutilized' });
    await cluster.node('n1');
    reap({ config: { consolidation: 'none' } });
    expect(await cluster.pass(20, () => consolidatable() !== undefined)).toBe(true);
    expect(consolidatable()).toMatchObject({
      status: 'True',
      message: 'it ends only if it is empty: consolidation is switched off (CONSOLIDATION=none)',
    });
  });

  test('whose node has pods is Consolidatable as soon as the time is over', async () => {
    await started(resting('18s'));
    await cluster.node('n1');
    await cluster.scale('web', 1);
    await cluster.pass(2);
    reap();
    expect(await cluster.pass(30, () => consolidatable() !== undefined, 500)).toBe(true);
    const since = (type: string): number =>
      conditions().find((one) => one.type === type)?.lastTransitionMs ?? Number.NaN;
    expect([18_000, 19_000]).toContain(since('Consolidatable') - since('Initialized'));
  });

  test('loses it when a pod comes, and has it again consolidateAfter later', async () => {
    await started(resting());
    await cluster.node('n1');
    reap();
    expect(await cluster.pass(40, () => consolidatable() !== undefined)).toBe(true);
    await cluster.scale('web', 1);
    expect(await cluster.pass(5, () => consolidatable() === undefined)).toBe(true);
    expect(lastPodEventTime()).toBeDefined();
    await cluster.pass(25);
    expect(consolidatable()).toBeUndefined();
    expect(await cluster.pass(10, () => consolidatable() !== undefined)).toBe(true);
  });

  test('loses it when its pool says consolidateAfter: Never', async () => {
    await started(resting('5s'));
    await cluster.node('n1');
    reap();
    expect(await cluster.pass(20, () => consolidatable() !== undefined)).toBe(true);
    await cluster.kube.patch(
      { resource: nodePools, name: 'default' },
      { type: 'merge', body: { spec: { disruption: { consolidateAfter: 'Never' } } } },
    );
    expect(await cluster.pass(5, () => consolidatable() === undefined)).toBe(true);
    await cluster.pass(30);
    expect([consolidatable(), isDeleting('claim-n1')]).toEqual([undefined, false]);
  });

  test('has its last pod event written once in ten seconds, the last of them too', async () => {
    await started(resting('1h'));
    await cluster.node('n1', { cpu: '8' });
    reap();
    await cluster.pass(2);
    const writes = podEventWrites();
    let changedMs = 0;
    for (const replicas of [1, 2, 3, 4, 5, 6]) {
      await cluster.scale('web', replicas);
      changedMs = cluster.clock.nowMs();
      await cluster.pass(1);
    }
    expect(writes.count()).toBe(1);
    await cluster.pass(20);
    expect(writes.count()).toBe(2);
    expect(Date.parse(String(lastPodEventTime()))).toBeGreaterThanOrEqual(
      Date.parse(isoSeconds(changedMs)),
    );
  });
});
