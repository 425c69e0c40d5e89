import type { PlanMessage } from '@dovetail/contracts';
import { annotations, nodeClaimObject, renderPromise } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, reap, replacements, started } from './testing/current-cluster.js';

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
      ...{ labels: {}, taints: [], startupTaints: [], requirements: [], requests: {} },
      annotations: {
        [annotations.admission]: `1.1/${id}/bin-0`,
        [annotations.maxPricePerHour]: '0.06',
        [annotations.promise]: promise,
      },
    }),
  );
}

test('a cheaper node that never becomes usable is bought five times in six hours at most', async () => {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  await cluster.node('n1', {
    cpu: '2',
    claimAnnotations: { [annotations.pricePerHour]: '0.192000' },
  });
  await cluster.scale('web', 2);
  await cluster.pass(1);
  const solver = replacements({ afterMs: 0, priceMicrosPerHour: 60_000, admitsCommands: false });
  reap({ config: { consolidation: 'replace' } });
  let bought = 0;
  for (let seconds = 0; seconds < 6 * 3_600; seconds += 10) {
    await cluster.advance(10_000);
    for (const plan of solver.plans.slice(bought)) {
      bought += 1;
      await buyInVain(plan, `bought-${String(bought)}`);
    }
  }
  expect(bought).toBeGreaterThan(1);
  expect(bought).toBeLessThanOrEqual(5);
});
