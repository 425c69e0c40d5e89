import { highsSolver } from '@dovetail/adapter-highs';
import { at } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import {
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  plan,
  type PlanOptions,
  provenBound,
  type Snapshot,
} from './index.js';
import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from './testing/objects.js';
import { planScenario } from './testing/scenario.js';

const lp = highsSolver();
afterAll(() => lp.close());

const zoneKey = 'topology.kubernetes.io/zone';
const capacityKey = 'karpenter.sh/capacity-type';
const typeKey = 'node.kubernetes.io/instance-type';
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1, pods: 1 } });

/** A core costs 1,000 on demand; the spot price is a tenth less, and zone b a little dearer. */
const types = [1, 2, 4, 8].map((count) =>
  typeOf({
    name: `t${count}`,
    cpuMillis: count * 1000,
    memoryBytes: gibibytes(count * 4),
    offerings: ['a', 'b'].flatMap((zone) => [
      offeringOf(zone, 'on-demand', count * (zone === 'a' ? 1000 : 1001)),
      offeringOf(zone, 'spot', count * (zone === 'a' ? 900 : 901)),
    ]),
  }),
);
const within = (key: string, ...values: readonly string[]): Partial<Pod> => ({
  requiredNodeAffinity: [{ matchExpressions: [{ key, operator: 'In', values }], matchFields: [] }],
});
const worldWith = (daemon: Partial<Pod>, over: Partial<Snapshot> = {}): Snapshot =>
  snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    daemonSets: [daemonSetOf('agent', { ...cores(1), ...daemon })],
    ...over,
  });
const shown = ({ options }: NewNode): string => {
  const { instanceType, zone, capacityType } = at(options, 0);
  return `${instanceType} ${zone} ${capacityType}`;
};

describe('a daemonset of one core beside a pod of one core', () => {
  test.each<[string, Partial<Pod>, string, number]>([
    ['runs everywhere', {}, 't2 a spot', 1800],
    ['runs in one zone', { nodeSelector: { [zoneKey]: 'a' } }, 't1 b spot', 901],
    [
      'runs in one zone by its old label',
      { nodeSelector: { 'failure-domain.beta.kubernetes.io/zone': 'a' } },
      't1 b spot',
      901,
    ],
    ['has affinity to one zone', within(zoneKey, 'a'), 't1 b spot', 901],
    ['has affinity to both zones', within(zoneKey, 'a', 'b'), 't2 a spot', 1800],
    ['runs on spot', { nodeSelector: { [capacityKey]: 'spot' } }, 't1 a on-demand', 1000],
    [
      'runs on spot in one zone',
      { nodeSelector: { [capacityKey]: 'spot', [zoneKey]: 'a' } },
      't1 b spot',
      901,
    ],
    ['runs on one type', { nodeSelector: { [typeKey]: 't1' } }, 't2 a spot', 1800],
    ['runs on other types', { nodeSelector: { [typeKey]: 't8' } }, 't1 a spot', 900],
    [
      'runs on one type or in one zone',
      {
        requiredNodeAffinity: [
          ...(within(typeKey, 't8').requiredNodeAffinity ?? []),
          ...(within(zoneKey, 'a').requiredNodeAffinity ?? []),
        ],
      },
      't1 b spot',
      901,
    ],
  ])('counts only where it can run: it %s', async (_, daemon, cheapest, price) => {
    const snapshot = worldWith(daemon);
    const pods = [podOf('p', cores(1))];
    const options: PlanOptions = { ...defaultPlanOptions, fewerNodesPermille: 0 };
    const made = plan(snapshot, pods, options);
    expect(checkPlan(snapshot, pods, made, options)).toEqual([]);
    expect(made.newNodes.map(shown)).toEqual([cheapest]);
    expect(made.priceMicrosPerHour).toBe(price);
    const bound = await provenBound(made, { snapshot, pods, options }, { lp, msMax: 60_000 });
    expect(Math.round(bound.priceMicrosPerHour)).toBe(price);
    expect(made.bound.priceMicrosPerHour).toBeLessThanOrEqual(price);
  });

  test('keeps its room on a node for pods that must go to its zone', () => {
    const made = planScenario({
      types,
      pods: podsOf('p', 3, { ...cores(1), nodeSelector: { [zoneKey]: 'a' } }),
      snapshot: { daemonSets: worldWith({ nodeSelector: { [zoneKey]: 'a' } }).daemonSets },
    });
    expect(made.newNodes.map(shown)).toEqual(['t4 a spot']);
  });

  test('counts on all offerings of a pool with minValues, whose nodes keep many of them', () => {
    const pool = poolOf('default', {
      requirements: [{ key: typeKey, operator: 'Exists', values: [], minValues: 3 }],
    });
    const { daemonSets } = worldWith({ nodeSelector: { [zoneKey]: 'a' } });
    const made = planScenario({
      types,
      pools: [pool],
      pods: [podOf('p', cores(1))],
      snapshot: { daemonSets },
    });
    expect(made.newNodes.map(shown)).toEqual(['t2 a spot']);
  });

  test('leaves the offers of a limited pool that the node is charged as', () => {
    const made = planScenario({
      types,
      pools: [poolOf('default', { limits: { cpu: 3000 } })],
      pods: podsOf('p', 3, cores(1)),
      snapshot: { daemonSets: worldWith({ nodeSelector: { [zoneKey]: 'a' } }).daemonSets },
    });
    expect(made.unplaced).toEqual([]);
    expect(made.newNodes.every(({ options }) => options.every(({ zone }) => zone === 'b'))).toBe(
      true,
    );
  });
});

/** The offerings that a claim with these options allows: any type in any zone, bought any way. */
const allowed = ({ options }: NewNode) =>
  types
    .filter(({ name }) => options.some(({ instanceType }) => instanceType === name))
    .flatMap((type) =>
      type.offerings
        .filter(
          ({ zone, capacityType }) =>
            options.some((one) => one.zone === zone) &&
            options.some((one) => one.capacityType === capacityType),
        )
        .map((offering) => ({ type, offering })),
    );

test('each offering that a claim allows holds its pods beside the daemonsets that run there', () => {
  const place = fc.record(
    { [zoneKey]: fc.constantFrom('a', 'b'), [capacityKey]: fc.constantFrom('spot', 'on-demand') },
    { requiredKeys: [] },
  );
  const daemons = fc.array(fc.record({ size: fc.integer({ min: 1, max: 9 }), place }), {
    maxLength: 3,
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(daemons, sizes, fc.integer({ min: 4, max: 40 }), (agents, asked, limit) => {
      const daemonSets = agents.map(({ size, place: nodeSelector }, index) =>
        daemonSetOf(`d${index}`, { ...cores(size / 10), nodeSelector }),
      );
      const pods = asked.map((size, index) => podOf(`p${index}`, cores(size / 10)));
      const pools = [poolOf('default', { limits: { cpu: limit * 1000 } })];
      const made = planScenario({ types, pools, pods, snapshot: { daemonSets } });
      for (const node of made.newNodes)
        for (const { type, offering } of allowed(node)) {
          const runs = agents.filter(
            (agent) =>
              (agent.place[zoneKey] ?? offering.zone) === offering.zone &&
              (agent.place[capacityKey] ?? offering.capacityType) === offering.capacityType,
          );
          const used =
            runs.reduce((sum, { size }) => sum + size * 100, 0) +
            node.podUids.reduce((sum, uid) => sum + at(asked, Number(uid.slice(1))) * 100, 0);
          expect(used).toBeLessThanOrEqual(type.allocatable['cpu'] ?? 0);
        }
    }),
    { seed: 1, numRuns: 150 },
  );
});
