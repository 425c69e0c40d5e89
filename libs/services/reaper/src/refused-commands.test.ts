import { annotations } from '@dovetail/core-api';
import { type KubeApi, KubeError, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';

const { disruptions, nodeClaims, nodes } = kubeResources;
const cheaper = { afterMs: 10_000, node: { cpu: '8' }, priceMicrosPerHour: 60_000 } as const;
const denied = (): KubeError => new KubeError('invalid', 'admission webhook "keep" denied it');

/** Two nodes that go by a command each. */
async function twoNodes(): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  await cluster.node('n1', { cpu: '2', claimAnnotations });
  await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.pass(1);
}

/** The API server, whose webhook refuses to delete this claim while `isRefusing`. */
function refusing(claim: string, isRefusing: () => boolean): KubeApi {
  const { kube } = cluster;
  const refuses: KubeApi['delete'] = (ref, options) =>
    ref.resource === nodeClaims && ref.name === claim && isRefusing()
      ? Promise.reject(denied())
      : kube.delete(ref, options);
  return { ...kube, delete: refuses };
}

test('a command whose end is refused keeps no other from its end, and ends later', async () => {
  await twoNodes();
  replacements(cheaper);
  let isRefusing = true;
  const kube = refusing('claim-n1', () => isRefusing);
  reap({ kube, config: { consolidation: 'replace' } });
  expect(await cluster.pass(180, gone('claim-n3'), 1_000)).toBe(true);
  expect([isDeleting('claim-n1'), tainted('n1')]).toEqual([false, true]);
  const lines = cluster.log.entries.filter(({ name }) => name === 'commands-failed');
  expect(lines[0]?.message).toContain('denied it; trying again');
  isRefusing = false;
  expect(await cluster.pass(30, gone('claim-n1'), 1_000)).toBe(true);
});

test('nodes of a deleted command come back although the API server refuses another', async () => {
  await twoNodes();
  const solver = replacements({ ...cheaper, afterMs: 600_000 });
  const { kube } = cluster;
  const patch: KubeApi['patch'] = (ref, change, options) =>
    ref.resource === nodes && ref.name === 'n1' && cluster.names(disruptions).length === 0
      ? Promise.reject(denied())
      : kube.patch(ref, change, options);
  reap({ kube: { ...kube, patch }, config: { consolidation: 'replace' } });
  expect(await cluster.pass(120, () => solver.plans.length === 2, 1_000)).toBe(true);
  await cluster.pass(3);
  for (const name of cluster.names(disruptions)) await kube.delete({ resource: disruptions, name });
  expect(await cluster.pass(20, () => !tainted('n3'), 1_000)).toBe(true);
  expect(tainted('n1')).toBe(true);
});
