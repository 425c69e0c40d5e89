import { annotations } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  decisions,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, nodes } = kubeResources;
const replacing = { config: { consolidation: 'replace' } } as const;

/** Two pods run on `n1`, which costs this much an hour. A new node costs 0.096. */
async function oneNode(price = '0.192000'): Promise<string> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: price };
  const { instanceId } = await cluster.node('n1', { claimAnnotations });
  await cluster.scale('web', 2);
  await cluster.pass(2);
  return instanceId;
}

describe('a node for whose pods a cheaper one can be bought', () => {
  test('is tainted after two looks, and ends once the new one is ready', async () => {
    const instanceId = await oneNode();
    const solver = replacements({ afterMs: 20_000 });
    reap(replacing);
    expect(await cluster.pass(30, () => solver.requests.length === 1, 1_000)).toBe(true);
    await cluster.pass(14);
    expect([tainted('n1'), solver.plans]).toEqual([false, []]);
    expect(await cluster.pass(10, () => solver.plans.length === 1, 1_000)).toBe(true);
    await cluster.pass(15);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([true, false]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect([cluster.names(nodes), stateOf(instanceId)]).toEqual([['new-1'], 'terminated']);
    expect(cluster.workloads.nodesOf('web')).toEqual(['new-1']);
    expect(solver.plans).toMatchObject([
      { cause: { nodeName: 'n1', reason: 'underutilized' }, plan: { priceMicrosPerHour: 96_000 } },
    ]);
    expect(solver.plans[0]?.cause).toHaveProperty('command');
    expect(solver.requests.every(({ commit }) => commit === undefined)).toBe(true);
    expect(await decisions()).toMatchObject([
      { kind: 'command' },
      { kind: 'disrupt', summary: 'ending n1: underutilized, replaced by 1 new node' },
      { kind: 'drain' },
      { kind: 'terminate' },
    ]);
  });

  test.each([
    ['the new one costs the same', '0.096000', "Can't replace with a cheaper node"],
    ['the saving is below a fiftieth', '0.097500', "Can't replace with a cheaper node"],
    [
      'its price is unknown',
      '',
      "Can't replace with a cheaper node; nothing cheaper is looked for, as the price of n1 is unknown",
    ],
  ])('stays if %s', async (_why, price, event) => {
    await oneNode(price);
    const solver = replacements({ afterMs: 0 });
    reap(replacing);
    await cluster.pass(60);
    expect([tainted('n1'), solver.plans, cluster.names(nodes)]).toEqual([false, [], ['n1']]);
    expect(cluster.events('Unconsolidatable')).toContain(event);
  });

  test('is given back if the launcher refuses the new one', async () => {
    await oneNode();
    const solver = replacements({ afterMs: 0, admitsCommands: false });
    const { reaper } = reap(replacing);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    await cluster.pass(60);
    expect(tainted('n1')).toBe(true);
    expect(await cluster.pass(30, () => !tainted('n1'), 1_000)).toBe(true);
    expect([retirementOn('n1'), isDeleting('claim-n1')]).toEqual([undefined, false]);
    expect(reaper.explain?.('n1')).toMatchObject({
      outcome: 'stays',
      summary: '2 of its pods have no room in its replacement',
    });
    expect(cluster.workloads.nodesOf('web')).toEqual(['n1']);
  });

  test.each([
    ['this reaper', false],
    ['its successor', true],
  ])('is given back, and %s ends a new one that is admitted only then', async (_by, dies) => {
    await oneNode();
    const solver = replacements({ afterMs: 10_000 });
    const first = reap(replacing);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    const metadata = { annotations: { [annotations.doNotDisrupt]: 'true' } };
    await cluster.kube.patch(
      { resource: nodes, name: 'n1' },
      { type: 'merge', body: { metadata } },
    );
    expect(await cluster.pass(5, () => !tainted('n1'), 500)).toBe(true);
    expect([retirementOn('n1'), cluster.names(nodeClaims)]).toEqual([undefined, ['claim-n1']]);
    if (dies) first.stop.abort();
    expect(await cluster.pass(20, () => !gone('claim-new-1')(), 1_000)).toBe(true);
    if (dies) reap(replacing);
    expect(await cluster.pass(60, gone('claim-new-1'), 1_000)).toBe(true);
    expect([cluster.names(nodeClaims), isDeleting('claim-n1')]).toEqual([['claim-n1'], false]);
    expect(cluster.workloads.nodesOf('web')).toEqual(['n1']);
  });

  test('is given back if it is protected meanwhile, and the unused new one ends', async () => {
    await oneNode();
    const solver = replacements({ afterMs: 10_000 });
    reap(replacing);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    await cluster.budget('web', 2);
    expect(await cluster.pass(60, () => solver.made.length === 1, 1_000)).toBe(true);
    expect(await cluster.pass(60, () => cluster.names(nodes).join() === 'n1', 1_000)).toBe(true);
    expect([tainted('n1'), cluster.names(nodeClaims)]).toEqual([false, ['claim-n1']]);
    expect(cluster.workloads.nodesOf('web')).toEqual(['n1']);
  });
});
