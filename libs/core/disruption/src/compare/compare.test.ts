import { present } from '@dovetail/core-invariant';
import { isReschedulable, uprooted } from '@dovetail/core-kube-model';
import { type Plan, plan } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import { podsThatCount } from '../causes/emptiness.js';
import type { NodeView } from '../facts/view.js';
import { runningCluster, type RunningNode, underusedPool } from '../testing/running.js';
import { compareRound, type ComparisonInput, type EndedNode } from './compare.js';
import type { EndReason } from './rounds.js';

type Setting = { readonly input: ComparisonInput; readonly views: readonly NodeView[] };

/** Nodes that run, of which the first ones end for this reason. */
function ending(
  nodes: readonly RunningNode[],
  reasons: readonly EndReason[],
  change: Partial<ComparisonInput> = {},
): Setting {
  const { snapshot, views, options } = runningCluster(nodes, underusedPool());
  const ended = reasons.map((reason, index): EndedNode => ({
    view: present(views[index], 'a node for each reason'),
    reason,
  }));
  const planKeeping = (kept: ReadonlySet<string>): Plan => {
    const going = ended.filter(({ view }) => !kept.has(view.claim.uid));
    const names = new Set(going.map(({ view }) => view.node?.name));
    return plan(
      { ...snapshot, nodes: snapshot.nodes.filter(({ name }) => !names.has(name)) },
      going.flatMap(({ view }) => view.pods.filter(isReschedulable).map(uprooted)),
      options,
    );
  };
  return { views, input: { launched: [], ended, consolidation: 'all', planKeeping, ...change } };
}

const bought = (priceMicrosPerHour: number) => ({
  pool: 'NodePool/default',
  instanceType: 'm.16',
  zone: 'a',
  capacityType: 'on-demand',
  priceMicrosPerHour,
});

test('a launch is compared with the cheapest nodes for its pods', () => {
  const { input, views } = ending([{ cores: 2, pods: [1_500] }], ['Other']);
  expect(podsThatCount(views[0]?.pods ?? [])).toHaveLength(1);
  const compared = compareRound({ ...input, launched: [bought(800_000)] });
  expect(compared).toMatchObject({
    theirs: { priceMicrosPerHour: 800_000 },
    ours: {
      nodes: [{ instanceType: 'm.2', pool: 'NodePool/default', priceMicrosPerHour: 100_000 }],
      priceMicrosPerHour: 100_000,
      podsUnplaced: 0,
    },
    differenceMicrosPerHour: -700_000,
  });
});

test('pods that fit on nodes that are there cost nothing', () => {
  const { input } = ending(
    [
      { cores: 2, pods: [1_000] },
      { cores: 4, pods: [1_000] },
    ],
    ['Expired'],
  );
  expect(compareRound({ ...input, launched: [bought(100_000)] })).toMatchObject({
    ours: { nodes: [], podsOnExistingNodes: 1, priceMicrosPerHour: 0 },
    ends: [{ claim: 'c1', node: 'n1', reason: 'Expired', priceMicrosPerHour: 100_000 }],
    differenceMicrosPerHour: -100_000,
  });
});

const roomy: readonly RunningNode[] = [
  { cores: 8, pods: [1_000] },
  { cores: 4, pods: [1_000] },
];
const tight: readonly RunningNode[] = [{ cores: 8, pods: [1_000] }];

describe('a node that the other ends', () => {
  test.each<
    [
      string,
      readonly RunningNode[],
      EndReason,
      ComparisonInput['consolidation'],
      string | undefined,
    ]
  >([
    ['because it is empty goes', [{ cores: 2, pods: [] }], 'Empty', 'none', undefined],
    ['as empty stays if a pod needs it', tight, 'Empty', 'all', 'not-empty'],
    ['as drifted stays if it has not drifted', tight, 'Drifted', 'all', 'not-drifted'],
    ['because of an interruption goes', tight, 'Other', 'none', undefined],
    [
      'as under-used stays without consolidation',
      roomy,
      'Underutilized',
      'none',
      'disruption-disabled',
    ],
    ['as under-used goes if its pods fit elsewhere', roomy, 'Underutilized', 'delete', undefined],
    [
      'as under-used stays if it needs a node that may not be bought',
      tight,
      'Underutilized',
      'delete',
      'needs-new-node',
    ],
    ['as under-used goes for a cheaper node', tight, 'Underutilized', 'replace', undefined],
    [
      'as under-used stays if the new node costs as much',
      [{ cores: 2, pods: [1_500] }],
      'Underutilized',
      'replace',
      'not-worthwhile',
    ],
  ])('%s', (_what, nodes, reason, consolidation, code) => {
    const { input } = ending(nodes, [reason], { consolidation });
    expect(compareRound(input).ends.map(({ keeps }) => keeps?.code)).toEqual([code]);
  });

  test('and that is kept goes on costing what it costs', () => {
    const { input } = ending(tight, ['Underutilized'], {
      consolidation: 'none',
      launched: [bought(100_000)],
    });
    expect(compareRound(input)).toMatchObject({
      ours: { nodes: [], priceMicrosPerHour: 400_000 },
      differenceMicrosPerHour: 300_000,
    });
  });

  test('together with another as under-used goes only if several may go', () => {
    const nodes = [
      { cores: 8, pods: [500] },
      { cores: 8, pods: [500] },
      { cores: 4, pods: [500] },
    ] as const;
    const codes = (consolidation: ComparisonInput['consolidation']) =>
      compareRound(
        ending(nodes, ['Underutilized', 'Underutilized'], { consolidation }).input,
      ).ends.map(({ keeps }) => keeps?.code);
    expect(codes('replace')).toEqual(['disruption-disabled', 'disruption-disabled']);
    expect(codes('all')).toEqual([undefined, undefined]);
    expect(codes('search')).toEqual([undefined, undefined]);
  });

  test('goes for several new nodes only if the whole cluster is searched', () => {
    const nodes = [{ cores: 16, pods: [1_500, 1_500] }] as const;
    const { input } = ending(nodes, ['Underutilized']);
    const planKeeping: ComparisonInput['planKeeping'] = (kept) => {
      const plan = input.planKeeping(kept);
      return { ...plan, newNodes: plan.newNodes.flatMap((node) => [node, node]) };
    };
    const codes = (consolidation: ComparisonInput['consolidation']) =>
      compareRound({ ...input, planKeeping, consolidation }).ends.map(({ keeps }) => keeps?.code);
    expect(codes('all')).toEqual(['needs-new-node']);
    expect(codes('search')).toEqual([undefined]);
  });
});
