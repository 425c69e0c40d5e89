import { annotations } from '@dovetail/core-api';
import { checkPlan } from '@dovetail/core-scheduling';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { pdb } from '../testing/objects.js';
import { runningCluster, type RunningNode, underusedPool } from '../testing/running.js';
import type { Command } from './command.js';
import { type Consolidation, searchCommands, type SearchInput } from './search.js';

const endless = { triesMax: 10_000, shouldStop: () => false };

/** The nodes out, and the types in, of each command. */
const shown = ({ commands }: Consolidation): readonly string[] =>
  commands.map(
    ({ nodesOut, nodesIn }) =>
      `${nodesOut.map(({ nodeName }) => nodeName).join(' ')} -> ${nodesIn.map(({ bin }) => bin.options[0]?.instanceType ?? '').join(' ')}`,
  );

const found = (input: SearchInput): readonly string[] => shown(searchCommands(input, endless));

/** Two nodes of 4 cores with a core in use each: one can go. */
const halfEmpty: readonly RunningNode[] = [
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
];

describe('the search for commands', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'leaves nodes that are full',
      found(
        runningCluster([
          { cores: 4, pods: [2000, 2000] },
          { cores: 2, pods: [2000] },
        ]),
      ),
      [],
    ],
    [
      'leaves all nodes of a pool that consolidates empty ones only',
      found(runningCluster(halfEmpty, underusedPool({ policy: 'WhenEmpty' }))),
      [],
    ],
    [
      'leaves all nodes of a pool whose budget is spent',
      found(runningCluster(halfEmpty, underusedPool({ budgets: [{ nodes: { count: 0 } }] }))),
      [],
    ],
    [
      'leaves nodes whose pods must not be disrupted',
      found(
        runningCluster(
          halfEmpty.map((one) => ({
            ...one,
            over: { annotations: { [annotations.doNotDisrupt]: 'true' } },
          })),
        ),
      ),
      [],
    ],
    [
      'leaves nodes whose pods a PodDisruptionBudget holds',
      found({
        ...runningCluster(halfEmpty),
        eligibility: { ...runningCluster(halfEmpty).eligibility, budgetsOf: () => [pdb('all', 0)] },
      }),
      [],
    ],
    ['replaces two nodes by a smaller one', found(runningCluster(halfEmpty)), ['n1 n2 -> m.2']],
    [
      'moves pods to the free room of a node that stays',
      found(
        runningCluster([
          { cores: 2, pods: [500] },
          { cores: 16, pods: [14_000] },
        ]),
      ),
      ['n1 -> '],
    ],
    [
      'keeps the large node that is best used, and buys a small one for the rest',
      found(
        runningCluster([
          { cores: 16, pods: [7_000] },
          { cores: 16, pods: [8_000, 1_000] },
          { cores: 16, pods: [2_000] },
        ]),
      ),
      ['n1 -> ', 'n3 -> m.2'],
    ],
    [
      'buys two smaller nodes for a large one',
      found(runningCluster([{ cores: 16, pods: [7_000, 1_900] }])),
      ['n1 -> m.8 m.2'],
    ],
  ])('%s', (_what, got, wanted) => expect(got).toEqual(wanted));

  test('keeps budgets over all commands together, or in each, as it is asked to', () => {
    const nodes = Array.from({ length: 8 }, () => ({ cores: 4, pods: [1000] }) as const);
    const input = runningCluster(nodes, underusedPool({ budgets: [{ nodes: { count: 2 } }] }));
    const goneBy = (budgets: 'each' | 'all'): readonly number[] =>
      searchCommands({ ...input, budgets }, endless).commands.map(
        ({ nodesOut: { length } }) => length,
      );
    const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
    expect(sum(goneBy('all'))).toBe(2);
    expect(sum(goneBy('each'))).toBeGreaterThan(2);
    expect(Math.max(...goneBy('each'))).toBeLessThanOrEqual(2);
  });

  test('leaves a saving below the thresholds', () => {
    const input = runningCluster(halfEmpty);
    const rules = { ...input.rules, savingMin: 1_000_000 };
    expect(found({ ...input, rules })).toEqual([]);
  });

  test('makes no plan once its limits are reached', () => {
    const input = runningCluster(halfEmpty);
    expect(searchCommands(input, { ...endless, triesMax: 0 })).toMatchObject({
      commands: [],
      tries: 0,
      ended: 'tries',
    });
    expect(searchCommands(input, { ...endless, shouldStop: () => true })).toMatchObject({
      commands: [],
      tries: 0,
      ended: 'stopped',
    });
  });
});

const saved = ({ priceBeforeMicrosPerHour, priceAfterMicrosPerHour }: Command): number =>
  priceBeforeMicrosPerHour - priceAfterMicrosPerHour;

/** Nodes whose pods fit: each takes a part of what is left. */
const nodes = fc.array(
  fc
    .record({
      cores: fc.constantFrom(2 as const, 4 as const, 8 as const, 16 as const),
      parts: fc.array(fc.double({ min: 0.05, max: 0.6, noNaN: true }), {
        minLength: 1,
        maxLength: 5,
      }),
    })
    .map(({ cores, parts }): RunningNode => {
      let free = cores * 1000;
      const pods = parts.map((part) => {
        const cpu = Math.max(1, Math.floor(free * part));
        free -= cpu;
        return cpu;
      });
      return { cores, pods };
    }),
  { maxLength: 8 },
);

describe('every search', () => {
  test('ends within its tries, and each of its commands saves and keeps a place for each pod', () =>
    fc.assert(
      fc.property(nodes, fc.integer({ min: 0, max: 80 }), (running, triesMax) => {
        const input = runningCluster(running);
        const { commands, tries, ended, after } = searchCommands(input, {
          triesMax,
          shouldStop: () => false,
        });
        expect(tries).toBeLessThanOrEqual(triesMax);
        expect(['complete', 'tries']).toContain(ended);
        for (const command of commands) expect(saved(command)).toBeGreaterThanOrEqual(1_000);
        expectDisjoint(commands);
        expectSamePods(input, after);
        expectFits(after);
      }),
      { numRuns: 25 },
    ));

  test('gives equal commands for equal input', () =>
    fc.assert(
      fc.property(nodes, (running) => {
        expect(found(runningCluster(running))).toEqual(found(runningCluster(running)));
      }),
      { numRuns: 4 },
    ));

  test('makes commands whose pods the checker accepts in the cluster as it runs', () =>
    fc.assert(
      fc.property(nodes, (running) => {
        const input = runningCluster(running);
        for (const command of searchCommands(input, { ...endless, triesMax: 80 }).commands)
          expect(violationsAlone(input, command)).toEqual([]);
      }),
      { numRuns: 8 },
    ));
});

/** No node and no pod is in two commands, and no command moves pods to a node that another ends. */
function expectDisjoint(commands: readonly Command[]): void {
  const out = commands.flatMap(({ nodesOut }) => nodesOut.map(({ nodeUid }) => nodeUid));
  const moved = commands.flatMap(({ moves }) => moves.map(({ podUid }) => podUid));
  expect(new Set(out).size).toBe(out.length);
  expect(new Set(moved).size).toBe(moved.length);
  for (const { moves } of commands)
    for (const { to } of moves) if (to.kind === 'node') expect(out).not.toContain(to.nodeUid);
}

function expectSamePods({ views }: SearchInput, after: Consolidation['after']): void {
  const uids = (lists: readonly { readonly pods: readonly { readonly uid: string }[] }[]) =>
    lists.flatMap(({ pods }) => pods.map(({ uid }) => uid)).sort();
  expect(uids(after.nodes)).toEqual(uids(views));
}

function expectFits({ nodes: standing }: Consolidation['after']): void {
  for (const { pods, allocatable } of standing) {
    const used = pods.reduce((sum, { requests }) => sum + (requests['cpu'] ?? 0), 0);
    expect(used).toBeLessThanOrEqual(allocatable['cpu'] ?? 0);
  }
}

function violationsAlone(input: SearchInput, command: Command): readonly unknown[] {
  const out = new Set(command.nodesOut.map(({ nodeUid }) => nodeUid));
  const moved = new Set(command.moves.map(({ podUid }) => podUid));
  const pods = input.views
    .flatMap((view) => view.pods)
    .filter(({ uid }) => moved.has(uid))
    .map(({ nodeName: _node, ...pod }) => pod);
  const rooms = new Map<string, string[]>();
  for (const { podUid, to } of command.moves)
    if (to.kind === 'node') rooms.set(to.nodeUid, [...(rooms.get(to.nodeUid) ?? []), podUid]);
  const standing = input.snapshot.nodes.filter(({ uid }) => !out.has(uid));
  const plan = {
    stateSequence: 1,
    catalogRevision: 'r1',
    admissionHead: '',
    seed: 1,
    steps: 0,
    newNodes: command.nodesIn.map(({ bin }) => bin),
    placements: standing.flatMap(({ name, uid }) => {
      const podUids = rooms.get(uid);
      return podUids === undefined
        ? []
        : [{ nodeName: name, nodeUid: uid, podUids, topologyGroups: [] }];
    }),
    unplaced: [],
    priceMicrosPerHour: command.priceAfterMicrosPerHour,
    bound: { kind: 'none' as const, priceMicrosPerHour: 0 },
    stats: { pods: pods.length, classes: 1, instanceTypes: 1 },
  };
  return checkPlan({ ...input.snapshot, nodes: standing }, pods, plan, input.options);
}
