import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
} from './testing/current-cluster.js';

const names = Array.from({ length: 12 }, (_, index) => `n${String(index + 10)}`);
const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };
const uidOf = (name: string): string => cluster.find(kubeResources.nodes, name)?.metadata.uid ?? '';

/** Full Spot nodes, a reaper, and a way to notice them all. */
async function spotNodes() {
  await started(never);
  const ids: string[] = [];
  for (const name of names)
    ids.push((await cluster.node(name, { cpu: '2', capacityType: 'spot' })).instanceId);
  await cluster.scale('web', names.length * 2);
  await cluster.pass(5);
  const notify = () => {
    for (const instanceId of ids) cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  };
  return { notify };
}

describe('Spot notices of many nodes at once', () => {
  test('give one request that names all of them, and one plan', async () => {
    const { notify } = await spotNodes();
    const made = replacements({ afterMs: 8_000, node: { cpu: '64' } });
    reap();
    await cluster.pass(3);
    notify();
    await cluster.pass(2);
    notify();
    await cluster.pass(3);
    expect(made.requests).toHaveLength(1);
    const [request] = made.requests;
    expect(request?.withoutNodes).toEqual(names);
    expect(request?.podUids).toHaveLength(names.length * 2);
    expect(request?.podUids).toEqual(request?.podUids.toSorted());
    const { nodeUid = '', others = [] } = request?.commit ?? {};
    expect([nodeUid, ...others.map((one) => one.nodeUid)]).toEqual(names.map(uidOf).toSorted());
    expect(names.map((name) => retirementOn(name)?.answeredMs !== undefined)).not.toContain(false);
    // All of them end once the one replacement is there.
    expect(await cluster.pass(20, () => names.every((name) => isDeleting(`claim-${name}`)))).toBe(
      true,
    );
    expect(made.made).toEqual(['new-1']);
  });

  test('are put one by one after a launcher has admitted nothing of their plan', async () => {
    const { notify } = await spotNodes();
    const made = replacements({
      afterMs: 600_000,
      admits: (podUids) => (podUids.length > 2 ? [] : podUids),
    });
    reap();
    await cluster.pass(3);
    notify();
    await cluster.pass(10);
    expect(made.requests).toHaveLength(1);
    await cluster.pass(12);
    expect(made.requests.slice(1).map(({ withoutNodes }) => withoutNodes.length)).toEqual(
      names.map(() => 1),
    );
  });

  test('are put one by one when a solver refuses them together', async () => {
    const { notify } = await spotNodes();
    const refuses = ({ withoutNodes }: { readonly withoutNodes: readonly string[] }) =>
      withoutNodes.includes('n10');
    const made = replacements({ afterMs: 5_000, refuses, node: { cpu: '64' } });
    reap();
    await cluster.pass(3);
    notify();
    expect(await cluster.pass(60, gone('claim-n15'))).toBe(true);
    expect(made.requests.filter((one) => one.withoutNodes.includes('n10')).length).toBeLessThan(5);
  });
});

test('a node tells its own share of a joint plan without a place', async () => {
  const { notify } = await spotNodes();
  replacements({ afterMs: 600_000, places: (podUids) => podUids.slice(1) });
  reap();
  await cluster.pass(3);
  notify();
  await cluster.pass(4);
  const unplaced = names.map((name) => retirementOn(name)?.unplaced ?? 0);
  expect(unplaced.reduce((sum, count) => sum + count, 0)).toBe(1);
});
