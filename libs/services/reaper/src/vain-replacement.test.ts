import type { PlanMessage } from '@dovetail/contracts';
import { annotations, labels, nodeClaimObject, renderPromise } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, replacements, started } from './testing/current-cluster.js';

const { nodeClaims, nodePools } = kubeResources;

/** The launcher admits the plan of a command, and its node never becomes usable. */
async function buyInVain({ id, cause, plan }: PlanMessage, name: string): Promise<void> {
  if (cause.kind !== 'replacement') return;
  const { nodeName, nodeUid } = cause;
  const promise = renderPromise({
    podUids: [],
    admission: '1.1',
    reserved: { cpu: 2_000 },
    forPodUids: plan.newNodes.flatMap(({ podUids }) => podUids),
    replaces: { nodeName, nodeUid },
  });
  await cluster.kube.create(
    nodeClaims,
    nodeClaimObject({
      name,
      pool: { kind: 'NodePool', name: 'default' },
      poolUid: cluster.find(nodePools, 'default')?.metadata.uid ?? '',
      classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      labels: { [labels.instanceType]: plan.newNodes[0]?.options[0]?.instanceType ?? '' },
      ...{ taints: [], startupTaints: [], requirements: [], requests: {} },
      annotations: {
        [annotations.admission]: `1.1/${id}/bin-0`,
        [annotations.maxPricePerHour]: '0.06',
        [annotations.promise]: promise,
      },
    }),
  );
}

/**
 * How many nodes are bought in six hours for so many nodes that a cheaper one could replace, where
 * another reaper leads after each of these times.
 */
async function boughtFor(count: number, leadsSeconds = Infinity): Promise<number> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  for (let index = 1; index <= count; index += 1) {
    const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
    await cluster.node(`n${String(index)}`, { cpu: '2', claimAnnotations });
  }
  await cluster.scale('web', 2 * count);
  await cluster.pass(1);
  const solver = replacements({ afterMs: 0, priceMicrosPerHour: 60_000, admitsCommands: false });
  const one = () => cluster.reaper({ config: { consolidation: 'replace' } });
  let leader = one();
  let bought = 0;
  for (let seconds = 0; seconds < 6 * 3_600; seconds += 10) {
    if (seconds > 0 && seconds % leadsSeconds === 0) {
      leader.stop.abort();
      leader = one();
    }
    await cluster.advance(10_000);
    for (const plan of solver.plans.slice(bought)) {
      bought += 1;
      await buyInVain(plan, `bought-${String(bought)}`);
    }
  }
  return bought;
}

test('a cheaper node that never becomes usable is bought five times in six hours at most', async () => {
  const bought = await boughtFor(1);
  expect(bought).toBeGreaterThan(1);
  expect(bought).toBeLessThanOrEqual(5);
});

test('nor more often where another reaper leads every half hour', async () => {
  const bought = await boughtFor(1, 1_800);
  expect(bought).toBeGreaterThan(1);
  expect(bought).toBeLessThanOrEqual(5);
});

test('a type that never becomes usable is not bought for each node of its pool in turn', async () => {
  const bought = await boughtFor(5);
  // Once for each node before the first has failed, and then one node at a time.
  expect(bought).toBeGreaterThan(5);
  expect(bought).toBeLessThanOrEqual(7);
});
