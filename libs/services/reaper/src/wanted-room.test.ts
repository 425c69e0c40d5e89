import { annotations, nodeClaimObject, renderPromise } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
} from './testing/current-cluster.js';

const { nodeClaims, nodePools, podDisruptionBudgets } = kubeResources;

/** Two Spot and on-demand nodes that a command gives up, and the claim of their replacement. */
async function bought(): Promise<{ readonly spotInstance: string }> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  const { instanceId } = await cluster.node('n1', {
    cpu: '2',
    capacityType: 'spot',
    claimAnnotations,
  });
  await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.budget('web', 2);
  await cluster.pass(1);
  const solver = replacements({
    afterMs: 0,
    priceMicrosPerHour: 60_000,
    admitsCommands: false,
    isPlaceless: ({ commit }) => commit !== undefined,
  });
  reap({ config: { consolidation: 'all' } });
  await cluster.pass(60, () => solver.plans.length === 1, 500);
  const { id, cause, plan } = present(solver.plans[0], 'a command was planned');
  if (cause.kind !== 'replacement') throw new Error(`a plan for ${cause.kind} pods`);
  const { nodeName, nodeUid } = cause;
  const promise = renderPromise({
    podUids: [],
    admission: '1.1',
    reserved: { cpu: 4_000 },
    forPodUids: plan.newNodes.flatMap(({ podUids }) => podUids),
    replaces: { nodeName, nodeUid },
  });
  await cluster.kube.create(
    nodeClaims,
    nodeClaimObject({
      name: 'bought',
      pool: { kind: 'NodePool', name: 'default' },
      poolUid: cluster.find(nodePools, 'default')?.metadata.uid ?? '',
      classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      labels: {},
      taints: [],
      startupTaints: [],
      requirements: [],
      requests: {},
      annotations: {
        [annotations.admission]: `1.1/${id}/bin-0`,
        [annotations.maxPricePerHour]: '0.06',
        [annotations.promise]: promise,
      },
    }),
  );
  await cluster.pass(3);
  return { spotInstance: instanceId };
}

/** Lets no pod go any more: the command is taken back. */
const holdPods = (): Promise<unknown> =>
  cluster.kube.patch(
    { resource: podDisruptionBudgets, namespace: 'default', name: 'web-pdb' },
    { type: 'merge', body: { spec: { minAvailable: 4 } } },
  );

test('a command that is taken back leaves the room that an interrupted node of it waits for', async () => {
  const { spotInstance } = await bought();
  cluster.twin.notify({ kind: 'spot-interruption', instanceId: spotInstance });
  await cluster.pass(2);
  await holdPods();
  expect(await cluster.pass(20, () => retirementOn('n3') === undefined, 250)).toBe(true);
  await cluster.pass(20);
  expect([cluster.names(nodeClaims).includes('bought'), isDeleting('bought')]).toEqual([
    true,
    false,
  ]);
});

test('a command that is taken back ends the claim that nobody waits for', async () => {
  await bought();
  await holdPods();
  const isEnded = (): boolean =>
    isDeleting('bought') || !cluster.names(nodeClaims).includes('bought');
  expect(await cluster.pass(20, isEnded, 250)).toBe(true);
});
