import { annotations } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { cluster, reap, replacements, started, tainted } from './testing/current-cluster.js';

const { nodes } = kubeResources;
const searching = { config: { consolidation: 'search' } } as const;

/** Two nodes of 0.192 dollars with two pods each. */
async function twoNodes(budget = '100%'): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: budget }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  await cluster.node('n1', { cpu: '2', claimAnnotations });
  await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.budget('web', 2);
  await cluster.pass(1);
}

/** One command that gives up all nodes of the search, and lets no other node take pods. */
const all = ({ claimUids }: { readonly claimUids: readonly string[] }) => [
  { claimUids, openNodes: [], nodesIn: 2, savedMicrosPerHour: 264_000 },
];
const two = {
  afterMs: 10_000,
  node: { cpu: '4' },
  priceMicrosPerHour: 60_000,
  nodesIn: 2,
  finds: all,
} as const;
const commands = () => cluster.commandsUnderWay();

describe('a command that a search found', () => {
  test('buys two nodes for two, after 15 s and a second look', async () => {
    await twoNodes();
    const solver = replacements(two);
    reap(searching);
    expect(await cluster.pass(30, () => solver.requests.length === 1, 1_000)).toBe(true);
    expect(solver.searches.map(({ claimUids }) => claimUids.length)).toEqual([2]);
    expect(solver.requests[0]).toMatchObject({ withoutNodes: ['n1', 'n3'], openNodes: [] });
    await cluster.pass(13);
    expect([tainted('n1'), tainted('n3'), commands()]).toEqual([false, false, []]);
    expect(await cluster.pass(10, () => solver.plans.length === 1, 1_000)).toBe(true);
    expect(solver.plans[0]?.plan.newNodes.map(({ podUids }) => podUids.length)).toEqual([2, 2]);
    const settled = (): boolean => cluster.names(nodes).join() === 'new-1,new-2';
    expect(await cluster.pass(90, settled, 1_000)).toBe(true);
    expect(await cluster.pass(5, () => commands().length === 0, 1_000)).toBe(true);
    expect([cluster.broken, cluster.workloads.podsOf('web').length]).toEqual([[], 4]);
  });

  test.each<[string, string, Parameters<typeof replacements>[0]]>([
    ['if its pool may lose one node only', '1', two],
    ['if the new nodes cost as much', '100%', { ...two, priceMicrosPerHour: 192_000 }],
    [
      'if the search names a node that is not there',
      '100%',
      { ...two, finds: () => all({ claimUids: ['gone'] }) },
    ],
  ])('is not begun %s', async (_why, budget, made) => {
    await twoNodes(budget);
    const solver = replacements({ ...made, admitsCommands: false });
    reap(searching);
    await cluster.pass(60);
    expect(solver.searches.length).toBeGreaterThan(0);
    expect([solver.plans, commands(), tainted('n1'), tainted('n3')]).toEqual([
      [],
      [],
      false,
      false,
    ]);
  });

  test('is taken back whole if the launcher refuses its plan', async () => {
    await twoNodes();
    const solver = replacements({ ...two, admitsCommands: false });
    reap(searching);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 1_000)).toBe(true);
    expect([tainted('n1'), tainted('n3')]).toEqual([true, true]);
    await cluster.pass(85);
    expect([tainted('n1'), tainted('n3'), cluster.names(nodes)]).toEqual([
      false,
      false,
      ['n1', 'n3'],
    ]);
  });
});

describe('the commands of one search', () => {
  /** One command for each node. */
  const each = ({ claimUids }: { readonly claimUids: readonly string[] }) =>
    claimUids.map((uid) => ({
      claimUids: [uid],
      openNodes: [],
      nodesIn: 1,
      savedMicrosPerHour: 132_000,
    }));
  const apart = { ...two, nodesIn: 1, finds: each } as const;

  test('are begun together, after one wait', async () => {
    await twoNodes();
    const solver = replacements(apart);
    reap(searching);
    expect(await cluster.pass(30, () => solver.requests.length === 2, 1_000)).toBe(true);
    await cluster.pass(13);
    expect(commands()).toEqual([]);
    expect(await cluster.pass(4, () => solver.plans.length === 2, 1_000)).toBe(true);
    expect([tainted('n1'), tainted('n3')]).toEqual([true, true]);
    const settled = (): boolean => cluster.names(nodes).join() === 'new-1,new-2';
    expect(await cluster.pass(90, settled, 1_000)).toBe(true);
    expect([solver.searches.length, cluster.broken]).toEqual([1, []]);
  });

  test('wait for their turn where a pool may lose one node at a time', async () => {
    await twoNodes('1');
    const solver = replacements(apart);
    reap(searching);
    expect(await cluster.pass(40, () => solver.plans.length === 1, 1_000)).toBe(true);
    expect([tainted('n1'), tainted('n3')].filter(Boolean)).toHaveLength(1);
    expect(solver.searches.map(({ claimUids }) => claimUids.length)).toEqual([2]);
    const settled = (): boolean => cluster.names(nodes).join() === 'new-1,new-2';
    expect(await cluster.pass(240, settled, 1_000)).toBe(true);
    expect(cluster.broken).toEqual([]);
  });
});

test('a search that found nothing comes again after a minute at the soonest', async () => {
  await twoNodes();
  const solver = replacements({ ...two, finds: () => [] });
  reap(searching);
  expect(await cluster.pass(30, () => solver.searches.length === 1, 1_000)).toBe(true);
  await cluster.scale('web', 3);
  await cluster.pass(50);
  expect(solver.searches).toHaveLength(1);
});

test('a node that no command of a search gives up is told so', async () => {
  await twoNodes();
  replacements({ ...two, finds: () => [] });
  reap(searching);
  await cluster.pass(30);
  expect(new Set(cluster.events('Unconsolidatable'))).toEqual(
    new Set(['a search over the whole cluster found no command with this node that saves enough']),
  );
});

test('nothing is searched while budgets hold back every node', async () => {
  await twoNodes('0');
  const solver = replacements(two);
  reap(searching);
  await cluster.pass(120);
  expect(solver.searches).toEqual([]);
});
