import { annotations } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import type { BinOption, NewNode, Plan } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { type Candidate, consolidationCandidates } from './candidates.js';
import { judgeReplacement, type ReplacementRules } from './replacement.js';

const underused = pool({
  disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
});
type Running = { readonly price: string; readonly type?: string; readonly spot?: boolean };

/** The candidates of nodes that run, `n1` with pod `p1` and so on. */
function running(nodes: readonly Running[]): readonly Candidate[] {
  const views = nodes.map(({ price, type = 'm5.xlarge', spot = false }, index) => {
    const id = String(index + 1);
    const labels = {
      'node.kubernetes.io/instance-type': type,
      'karpenter.sh/capacity-type': spot ? 'spot' : 'on-demand',
    };
    return view({
      claim: claim(`c${id}`, { annotations: { [annotations.pricePerHour]: price } }),
      node: node(`n${id}`, { labels }),
      pool: underused,
      pods: [pod(`p${id}`)],
    });
  });
  const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
  return consolidationCandidates(views, options).candidates;
}

const option = (instanceType: string, price: number, more: Partial<BinOption> = {}): BinOption => ({
  instanceType,
  zone: 'us-west-2a',
  capacityType: 'on-demand',
  priceMicrosPerHour: price * 1e6,
  ...more,
});
const spot = { capacityType: 'spot' } as const;
const types = (count: number): readonly BinOption[] =>
  Array.from({ length: count }, (_none, index) => option(`t${String(index)}.large`, 0.05, spot));

function judge(
  nodes: readonly Running[],
  options: readonly BinOption[],
  more: Partial<ReplacementRules> & {
    readonly bins?: number;
    readonly minValues?: number;
    readonly requirements?: NewNode['requirements'];
  } = {},
) {
  const candidates = running(nodes);
  const typeRequirement = {
    key: 'node.kubernetes.io/instance-type',
    operator: 'In',
    values: [...new Set(options.map(({ instanceType }) => instanceType))],
    ...(more.minValues === undefined ? {} : { minValues: more.minValues }),
  } as const;
  const bin: Pick<NewNode, 'id' | 'options' | 'podUids' | 'pool' | 'requirements'> = {
    id: 'bin-0',
    pool: underused.identity,
    options,
    requirements: [typeRequirement, ...(more.requirements ?? [])],
    podUids: candidates.flatMap(({ pods }) => pods.map(({ uid }) => uid)),
  };
  const newNodes = Array.from({ length: more.bins ?? 1 }, (_none, index) => ({
    ...bin,
    id: `bin-${String(index)}`,
  }));
  const plan = { newNodes, placements: [], unplaced: [] } as unknown as Plan;
  const position = { incarnation: 'one', sequence: 1 };
  const rules = { spotToSpot: false, savingMin: 0, savingShareMin: 0, ...more };
  return judgeReplacement(candidates, { plan, position }, () => false, rules);
}
/** The types that the replacement may be launched as, or the words why there is none. */
function outcome(...given: Parameters<typeof judge>): readonly string[] | string {
  const judged = judge(...given);
  if (judged.kind === 'stays') return judged.note.message;
  const { bin } = present(judged.command.nodesIn[0], 'a replacement buys a node');
  return bin.options.map(({ instanceType, capacityType }) => `${instanceType} ${capacityType}`);
}

const cannot = "Can't replace with a cheaper node";

describe('single-node consolidation', () => {
  test.each<[string, ReturnType<typeof outcome>, ReturnType<typeof outcome>]>([
    [
      'replaces a node by a cheaper type',
      outcome([{ price: '0.2' }], [option('m5.large', 0.1), option('m5.xlarge', 0.2)]),
      ['m5.large on-demand'],
    ],
    [
      'leaves out a type that is dearer in another zone',
      outcome(
        [{ price: '0.2' }],
        [option('a', 0.1), option('b', 0.15), option('a', 0.3, { zone: 'us-west-2b' })],
      ),
      ['b on-demand'],
    ],
    [
      'keeps a node for which nothing is cheaper',
      outcome([{ price: '0.1' }], [option('a', 0.1)]),
      cannot,
    ],
    ['keeps a node of unknown price', outcome([{ price: '' }], [option('a', 0.1)]), cannot],
    [
      'keeps a node for which two would be bought',
      outcome([{ price: '0.2' }], [option('a', 0.01)], { bins: 2 }),
      "Can't remove without creating 2 candidates",
    ],
    [
      'pins a replacement of an on-demand node to Spot',
      outcome([{ price: '0.2' }], [option('a', 0.1), option('a', 0.05, spot)]),
      ['a spot'],
    ],
    [
      'takes on-demand where Spot is no cheaper',
      outcome([{ price: '0.2' }], [option('a', 0.1), option('b', 0.3, spot)]),
      ['a on-demand'],
    ],
    [
      'keeps a node whose minValues could not be met',
      outcome([{ price: '0.2' }], [option('a', 0.1), option('b', 0.3)], { minValues: 2 }),
      'minValues needs 2 cheaper types, got 1',
    ],
    [
      'leaves a saving below the threshold',
      outcome([{ price: '0.2' }], [option('a', 0.19)], { savingMin: 20_000 }),
      cannot,
    ],
    [
      'leaves a saving below the share',
      outcome([{ price: '0.2' }], [option('a', 0.19)], { savingShareMin: 0.1 }),
      cannot,
    ],
  ])('%s', (_what, got, wanted) => expect(got).toEqual(wanted));
});

describe('minValues of other keys than the type', () => {
  const family = 'karpenter.k8s.aws/instance-family';
  const zone = 'topology.kubernetes.io/zone';
  const needs = (key: string, minValues: number) =>
    [{ key, operator: 'Exists', values: [], minValues }] as const;
  const valuesOfType = (type: string, key: string) =>
    key === family ? [type.split('.')[0] ?? ''] : undefined;
  const node = { price: '0.2', spot: true } as const;
  /** Types of the same family, and then one of another. */
  const families = [
    ...Array.from({ length: 30 }, (_none, index) => option(`m5.x${String(index)}`, 0.05, spot)),
    option('c5.large', 0.06, spot),
  ];

  test.each<[string, ReturnType<typeof outcome>, unknown]>([
    [
      'keep a node whose families would be too few',
      outcome([{ price: '0.2' }], [option('m5.large', 0.1), option('c5.large', 0.3)], {
        requirements: needs(family, 2),
        valuesOfType,
      }),
      `minValues needs 2 values of ${family} among cheaper types, got 1`,
    ],
    [
      'let a node go whose families suffice',
      outcome([{ price: '0.2' }], [option('m5.large', 0.1), option('c5.large', 0.1)], {
        requirements: needs(family, 2),
        valuesOfType,
      }),
      ['m5.large on-demand', 'c5.large on-demand'],
    ],
    [
      'keep a node whose zones would be too few',
      outcome([{ price: '0.2' }], [option('m5.large', 0.1)], { requirements: needs(zone, 2) }),
      `minValues needs 2 values of ${zone} among cheaper types, got 1`,
    ],
    [
      'keep a node while the types are not known',
      outcome([{ price: '0.2' }], [option('m5.large', 0.1)], {
        requirements: needs(family, 1),
        valuesOfType: () => undefined,
      }),
      `minValues needs 1 values of ${family} among cheaper types, got 0`,
    ],
  ])('%s', (_what, got, wanted) => expect(got).toEqual(wanted));

  test('are kept by the cut to the cheapest Spot types', () => {
    const cut = (count: number) =>
      outcome([node], families, {
        spotToSpot: true,
        requirements: needs(family, count),
        valuesOfType,
      });
    expect([cut(1).length, cut(2).length, cut(2).includes('c5.large spot')]).toEqual([
      15,
      31,
      true,
    ]);
  });
});

test('a type that did not become usable lately is not bought, and a dearer one may be', () => {
  const isLeftOut = (_pool: unknown, type: string): boolean => type === 'a';
  const offered = [option('a', 0.1), option('b', 0.15)];
  expect(outcome([{ price: '0.2' }], offered, { isLeftOut })).toEqual(['b on-demand']);
  expect(outcome([{ price: '0.12' }], offered, { isLeftOut })).toBe(cannot);
  expect(outcome([{ price: '0.2' }], [option('a', 0.1)], { isLeftOut })).toBe(
    "Can't replace: nodes of each type that fits did not become usable in NodePool/default lately",
  );
});

describe('spot-to-spot consolidation', () => {
  const node = { price: '0.2', spot: true };
  const two = [node, node];

  test.each<[string, ReturnType<typeof outcome>, unknown]>([
    [
      'is off by default',
      outcome([node], types(15)),
      "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
    ],
    [
      'of one node needs 15 cheaper types',
      outcome([node], types(15), { spotToSpot: true }),
      expect.any(Array),
    ],
    [
      'of one node refuses 14 cheaper types',
      outcome([node], types(14), { spotToSpot: true }),
      'SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to consolidate, got 14',
    ],
    [
      'of several nodes needs no 15 types',
      outcome(two, types(1), { spotToSpot: true }),
      ['t0.large spot'],
    ],
    [
      'refuses types that are no cheaper',
      outcome([node], [option('a', 0.3, spot)], { spotToSpot: true }),
      "Can't replace spot node with a cheaper spot node",
    ],
    [
      'does not concern a Spot node that on-demand would replace',
      outcome([node], [option('a', 0.1)]),
      ['a on-demand'],
    ],
  ])('%s', (_what, got, wanted) => expect(got).toEqual(wanted));
});

describe('multi-node consolidation', () => {
  const three: readonly Running[] = ['0.2', '0.2', '0.1'].map((price, index) => ({
    price,
    type: index === 2 ? 'small' : 'large',
  }));

  test('replaces three nodes by one that is cheaper than all of them together', () => {
    const judged = judge(three, [option('huge', 0.4), option('giant', 0.5)]);
    expect(judged).toMatchObject({
      kind: 'command',
      command: {
        nodesOut: [{ nodeName: 'n1' }, { nodeName: 'n2' }, { nodeName: 'n3' }],
        nodesIn: [
          {
            bin: { requirements: [{ values: ['huge'] }] },
            priceMicrosPerHour: 400_000,
            priceCapMicrosPerHour: 400_000,
          },
        ],
        priceBeforeMicrosPerHour: 500_000,
        priceAfterMicrosPerHour: 400_000,
        disruptionCost: 6,
      },
    });
  });

  test('does not buy a type that goes, or a dearer one, if that one could stay', () =>
    expect(
      outcome(three, [option('tiny', 0.05), option('small', 0.1), option('huge', 0.4)]),
    ).toEqual(['tiny on-demand']));
});

describe('Spot-to-Spot consolidation of one node', () => {
  const node: Running = { price: '0.2', spot: true };
  const rules = { spotToSpot: true } as const;
  /** Types that cost more and more, each in a cheap and in a dear zone. */
  const dearer = (count: number): readonly BinOption[] =>
    Array.from({ length: count }, (_none, index) => [
      option(`t${String(index)}.large`, 0.05 + index / 1_000, spot),
      option(`t${String(index)}.large`, 0.06 + index / 1_000, { ...spot, zone: 'us-west-2b' }),
    ])
      .flat()
      .toSorted((a, b) => a.priceMicrosPerHour - b.priceMicrosPerHour);

  test('launches one of the fifteen cheapest types, or of as many as minValues asks for', () => {
    const named = (minValues?: number) =>
      new Set(outcome([node], dearer(40), { ...rules, ...(minValues ? { minValues } : {}) })).size;
    expect([named(), named(3), named(20)]).toEqual([15, 15, 20]);
  });

  test('finds nothing cheaper for the node that it has bought, whichever it is', () => {
    const options = dearer(40);
    const judged = judge([node], options, rules);
    const bought =
      judged.kind === 'stays' ? [] : judged.command.nodesIn.flatMap(({ bin }) => bin.options);
    expect(bought).toHaveLength(30);
    for (const { priceMicrosPerHour, instanceType } of bought) {
      const next = { price: (priceMicrosPerHour / 1e6).toFixed(6), type: instanceType, spot: true };
      expect(outcome([next], options, rules)).toMatch(/requires 15 cheaper|Can't replace/);
    }
  });

  test('of several nodes launches one of the cheapest 15 types, too', () => {
    expect(new Set(outcome([node, node], dearer(40), rules)).size).toBe(15);
  });

  test('of several nodes needs no 15 cheaper types', () => {
    expect(new Set(outcome([node, node], dearer(3), rules)).size).toBe(3);
  });
});
