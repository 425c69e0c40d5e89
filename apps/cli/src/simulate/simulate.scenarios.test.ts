import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from 'vitest';

import { resultOf, simulate } from './testing/simulating.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

describe('the scenarios, offline', () => {
  const scenario = (name: string): string => join(root, 'tests/scenarios', name);
  test('inflate-memory: one node of the cheapest type that holds 5 GiB', async () => {
    const result = resultOf(await simulate([scenario('inflate-memory')], { catalog: 'us-west-2' }));
    expect(
      result.newNodes.map((node) => [node.nodePool, node.capacityTypes, node.pods.length]),
    ).toEqual([['general-purpose', ['on-demand'], 5]]);
  });
  test.each(['r6gd.xlarge', 't4g.2xlarge'])(
    'layered-constraints: exactly one %s in us-west-2a',
    async (instanceType) => {
      const result = resultOf(
        await simulate(
          [
            join(scenario('layered-constraints'), 'provisioner.yaml'),
            join(scenario('layered-constraints'), `workload-${instanceType}.yaml`),
          ],
          { catalog: 'us-west-2' },
        ),
      );
      expect(
        result.newNodes.map((node) => [
          node.instanceTypes,
          node.zones,
          node.capacityTypes,
          node.pods.length,
        ]),
      ).toEqual([[[instanceType], ['us-west-2a'], ['on-demand'], 3]]);
    },
  );
  test('spot-three-zones: three nodes in three zones, which may be spot', async () => {
    const result = resultOf(
      await simulate([scenario('spot-three-zones')], { catalog: 'eu-west-1' }),
    );
    expect(
      result.newNodes
        .map((node) => [node.zones, node.capacityTypes.includes('spot'), node.pods.length])
        .toSorted(),
    ).toEqual([
      [['eu-west-1a'], true, 1],
      [['eu-west-1b'], true, 1],
      [['eu-west-1c'], true, 1],
    ]);
  });
  test('spot-type-list: only the listed types', async () => {
    const result = resultOf(await simulate([scenario('spot-type-list')], { catalog: 'us-east-1' }));
    expect(result.unschedulable).toEqual([]);
    expect(
      result.newNodes
        .flatMap((node) => node.instanceTypes)
        .filter(
          (one) => !['m5.large', 'm5a.large', 'm5.xlarge', 'm6i.large', 'c5.xlarge'].includes(one),
        ),
    ).toEqual([]);
  });
  test('team1-zonal-spread: nodes of team1, evenly over the zones', async () => {
    const result = resultOf(
      await simulate([scenario('team1-zonal-spread')], { catalog: 'eu-west-1' }),
    );
    expect(
      new Set(result.newNodes.map((node) => `${node.nodePool} ${node.capacityTypes.join()}`)),
    ).toEqual(new Set(['team1 on-demand']));
    expect(result.cost).toMatchObject({ sized: true, gap: null });
  });
  test('team1-zonal-spread: says that the bound does not apply to nodes of some sizes', async () => {
    const { out } = await simulate([scenario('team1-zonal-spread')], {
      catalog: 'eu-west-1',
      output: 'table',
    });
    expect(out).toContain('with nodes sized by a part of the types (see --explain)');
    expect(out).not.toContain('least possible');
  });
});

test.each(['web', 'mixed'])('the example %s plans as its comments say', async (name) => {
  const result = resultOf(await simulate([join(root, 'examples', name)], { catalog: 'us-east-1' }));
  expect(result.unschedulable.map((one) => one.pod)).toEqual(
    name === 'mixed' ? ['default/trainer-0'] : [],
  );
});
