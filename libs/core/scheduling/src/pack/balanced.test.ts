import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podsOf } from '../testing/objects.js';
import {
  asking,
  faultsOf,
  type Packing,
  packingOf,
  rules,
  typesBy,
  workloadPods,
  workloadsOf,
} from '../testing/packing.js';
import { type Balanced, balancedPack, type Standing } from './balanced.js';
import { totalPrice } from './bins.js';
import { firstFitPack } from './first-fit.js';
import type { PackBin } from './packing.js';

const none: Standing = () => Infinity;
const balance = (
  { context }: Packing,
  nodes: number,
  over: { readonly standing?: Standing; readonly stopped?: boolean } = {},
): Balanced | undefined =>
  balancedPack(context, {
    nodes,
    standing: over.standing ?? none,
    shouldStop: () => over.stopped === true,
  });
const podsPerNode = (made: Balanced | undefined): readonly number[] | undefined =>
  made?.bins.map(({ pods }) => pods).sort((a, b) => b - a);

const types = typesBy([2, 8, 11], [4, 16, 20], [8, 32, 38]);
const spread = rules.spread('a');
const spreading = (over: object): object => ({
  labels: { app: 'a' },
  topologySpread: spread.topologySpread.map((one) => ({ ...one, ...over })),
});

describe('pods of a hostname spread', () => {
  test.each<[string, object, number, number, readonly number[] | undefined]>([
    ['are shared by three nodes, not on one each', spread, 12, 12, [4, 4, 4]],
    ['are shared so that no node has more than maxSkew more', spread, 13, 13, [5, 4, 4]],
    ['are left alone where three nodes are all that is needed', spread, 12, 3, undefined],
    ['are left alone when there are too few to share', spread, 3, 12, undefined],
    [
      'are left alone when maxSkew lets three nodes hold them',
      spreading({ maxSkew: 4 }),
      12,
      12,
      undefined,
    ],
    [
      'are left alone when only some nodes count',
      spreading({ nodeTaintsPolicy: 'Honor' }),
      12,
      12,
      undefined,
    ],
    [
      'are left alone when so many nodes must be there',
      spreading({ minDomains: 4 }),
      12,
      12,
      undefined,
    ],
    [
      'are left alone when they keep apart for another reason',
      { ...spread, ...rules.port() },
      12,
      12,
      undefined,
    ],
    ['are left alone when there is no spread', {}, 12, 12, undefined],
  ])('%s', (_sentence, rule, count, nodes, expected) => {
    const packing = packingOf(podsOf('one', count, { ...asking(1, 4), ...rule }), { types });
    expect(podsPerNode(balance(packing, nodes))).toEqual(expected);
  });

  test.each<[string, number, readonly number[] | undefined]>([
    ['are shared when nodes that exist hold nearly as many', 3, [4, 4, 4]],
    ['are on more nodes when nodes that exist hold fewer', 2, [2, 2, 2, 2, 2, 2]],
    ['are left alone when a node that exists holds none', 0, undefined],
  ])('%s', (_sentence, standing, expected) => {
    const packing = packingOf(podsOf('one', 12, { ...asking(1, 4), ...spread }), { types });
    expect(podsPerNode(balance(packing, 12, { standing: () => standing }))).toEqual(expected);
  });

  test('are left alone when it is time to stop', () => {
    const packing = packingOf(podsOf('one', 12, { ...asking(1, 4), ...spread }), { types });
    expect(balance(packing, 12, { stopped: true })).toBeUndefined();
  });

  test('are on no fewer nodes than pods beside them that keep apart need', () => {
    const packing = packingOf(
      [
        ...podsOf('one', 12, { ...asking(1, 4), ...spread }),
        ...podsOf('apart', 6, { ...asking(1, 4), ...rules.apart('b') }),
      ],
      { types },
    );
    expect(podsPerNode(balance(packing, 12))).toEqual([3, 3, 3, 3, 2, 2, 2]);
  });

  test('share as many nodes as all pods together need, however many those are', () => {
    const packing = packingOf(
      [
        ...podsOf('one', 150, { ...asking(0.1, 0.1), ...spread }),
        ...podsOf('beside', 400, asking(1, 4)),
      ],
      { types },
    );
    const { bins = [], context = packing.context } = balance(packing, 150) ?? {};
    expect(bins.length).toBeGreaterThan(50);
    expect(bins.length).toBeLessThan(100);
    expect(faultsOf(context, bins)).toEqual([]);
  });

  test('that spread over zones too get as many nodes in each zone', () => {
    const overZones = spread.topologySpread.map((one) => ({
      ...one,
      topologyKey: 'topology.kubernetes.io/zone',
    }));
    const both = { ...spread, topologySpread: [...overZones, ...spread.topologySpread] };
    const packing = packingOf(
      [
        ...podsOf('one', 24, { ...asking(0.5, 1), ...both }),
        ...podsOf('zonal', 30, { ...asking(1, 4), ...rules.zone() }),
      ],
      { types },
    );
    const { bins = [], context = packing.context } = balance(packing, 24) ?? {};
    const zones = bins.map(({ opened }) => opened?.offers[0]?.offering.zone);
    expect(zones.length).toBeGreaterThan(0);
    expect(zones.filter((zone) => zone === 'zone-a')).toHaveLength(zones.length / 2);
    expect(faultsOf(context, bins)).toEqual([]);
  });
});

/** Pods of each hostname spread on each node. */
const spreads = ({ context, bins }: Balanced): readonly (readonly number[])[] => {
  const groups = new Set(
    context.kinds
      .flatMap(({ roles }) => roles.map(({ group }) => group))
      .filter(({ kind }) => kind === 'spread'),
  );
  return [...groups].map((group) =>
    bins.map(({ contents }) =>
      [...contents].reduce(
        (sum, [index, count]) =>
          sum +
          (context.kinds[index]?.roles.some((role) => role.group === group) === true ? count : 0),
        0,
      ),
    ),
  );
};

test('whatever the pods, each is on one node, spreads are even, and nodes hold what they must keep', () => {
  let balanced = 0;
  fc.assert(
    fc.property(workloadsOf('none', 'apart', 'spread', 'port', 'zone'), (workloads) => {
      const packing = packingOf(workloadPods(workloads));
      const plain: readonly PackBin[] = firstFitPack(packing.context, Infinity) ?? [];
      const made = balance(packing, plain.length);
      if (made === undefined) return;
      balanced += 1;
      expect(faultsOf(made.context, made.bins)).toEqual([]);
      expect(made.bins.length).toBeLessThan(plain.length);
      expect(totalPrice(made.bins)).toBeGreaterThanOrEqual(made.context.bound);
      for (const counts of spreads(made))
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      for (const { contents, base } of made.bins)
        for (const [index, count] of base ?? [])
          expect(contents.get(index)).toBeGreaterThanOrEqual(count);
    }),
    { seed: 1, numRuns: 150 },
  );
  expect(balanced).toBeGreaterThan(10);
});
