import { annotations } from '@dovetail/core-api';
import { movedHereAnnotation, parseMovedHere, renderMovedHere } from '@dovetail/core-disruption';
import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, gone, reap, replacements, started, tainted } from './testing/current-cluster.js';

const { nodeClaims } = kubeResources;
const minute = 60_000;
const deleting = { config: { consolidation: 'delete' } } as const;

/** Two pods on `n1`, which costs 0.10 $ an hour, and room for them on `n2`, which stays. */
async function twoNodes(
  claimAnnotations: () => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const price = { [annotations.pricePerHour]: '0.100000' };
  await cluster.node('n1', { cpu: '2', claimAnnotations: { ...price, ...claimAnnotations() } });
  await cluster.scale('web', 2);
  await cluster.pass(2);
  const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  await cluster.node('n2', { cpu: '8', nodeAnnotations });
}

/** The mark of a move that begins now and that saved as much as giving `n1` up would. */
const justMoved = () => ({
  [movedHereAnnotation]: renderMovedHere({
    atMs: cluster.clock.nowMs(),
    savedMicrosPerHour: 100_000,
    disruptionCost: 3,
  }),
});

test('a node that a command moves pods to is marked, and the next does not give it up', async () => {
  await twoNodes();
  replacements({ afterMs: 0, room: true });
  reap(deleting);
  expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
  const text = cluster.find(nodeClaims, 'claim-n2')?.metadata.annotations?.[movedHereAnnotation];
  expect(parseMovedHere(text)).toMatchObject({ savedMicrosPerHour: 100_000, disruptionCost: 3 });
});

test.each([
  ['that received pods from a command', justMoved, 'its pods were moved here'],
  ['that a command bought', () => ({ [annotations.maxPricePerHour]: '0.2' }), 'it was bought'],
])('a node %s stays until the pause is over', async (_what, marks, event) => {
  await twoNodes(marks);
  replacements({ afterMs: 0, room: true });
  reap(deleting);
  await cluster.pass(60);
  expect(tainted('n1')).toBe(false);
  expect(cluster.events('Unconsolidatable').join()).toContain(event);
  await cluster.advance(30 * minute);
  expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
});

test('a node that received pods is given up at once if the pause is zero', async () => {
  await twoNodes(justMoved);
  replacements({ afterMs: 0, room: true });
  const { disruption } = (await import('./config.js')).defaultReaperConfig;
  reap({ config: { consolidation: 'delete', disruption: { ...disruption, movePauseMs: 0 } } });
  expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
});
