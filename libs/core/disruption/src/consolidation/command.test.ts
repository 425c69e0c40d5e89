import { InvariantError } from '@dovetail/core-invariant';
import type { NewNode } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import { commandOf, type NodeIn, type Proposal } from './command.js';

const pool = { kind: 'NodePool', name: 'default' } as const;
const out = (name: string, priceMicrosPerHour = 100_000) => ({
  nodeUid: `uid-${name}`,
  nodeName: name,
  claimUid: `uid-claim-${name}`,
  claimName: `claim-${name}`,
  pool,
  priceMicrosPerHour,
});
const bin = (id: string, podUids: readonly string[] = []): NewNode => ({
  id,
  pool,
  options: [],
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids,
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
});
const bought = (id: string, priceMicrosPerHour = 120_000): NodeIn => ({
  bin: bin(id),
  priceMicrosPerHour,
  priceCapMicrosPerHour: 150_000,
});
const move = (pod: string, from: string, binId: string) => ({
  podUid: pod,
  namespace: 'default',
  name: pod,
  fromNodeUid: `uid-${from}`,
  to: { kind: 'bin', binId } as const,
});
const proposal = (more: Partial<Proposal> = {}): Proposal => ({
  cause: 'underutilized',
  nodesOut: [out('n1'), out('n2')],
  nodesIn: [bought('bin-0')],
  moves: [move('p1', 'n1', 'bin-0'), move('p2', 'n2', 'bin-0')],
  disruptionCost: 4,
  position: { incarnation: 'one', sequence: 7 },
  ...more,
});

describe('a command', () => {
  test('says what it costs, what it saves per disruption, and which budgets it charges', () => {
    const made = commandOf(proposal());
    expect(made).toMatchObject({
      priceBeforeMicrosPerHour: 200_000,
      priceAfterMicrosPerHour: 120_000,
      score: 20_000,
      budgets: [{ pool, reason: 'Underutilized', nodes: 2 }],
    });
  });

  test('has the same name whatever the order of its lists, its prices and its position', () => {
    const { nodesOut, moves } = proposal();
    const other = proposal({
      nodesOut: nodesOut.toReversed().map((node) => ({ ...node, priceMicrosPerHour: 300_000 })),
      moves: moves.toReversed(),
      position: { incarnation: 'one', sequence: 9 },
    });
    expect(commandOf(other).name).toBe(commandOf(proposal()).name);
  });

  test.each<[string, Partial<Proposal>]>([
    ['another cause', { cause: 'drifted' }],
    ['another node out', { nodesOut: [out('n1'), out('n2'), out('n3')] }],
    ['another bin', { nodesIn: [bought('bin-0'), bought('bin-1')] }],
    [
      'another place of a pod',
      {
        moves: [
          move('p1', 'n1', 'bin-0'),
          { ...move('p2', 'n2', ''), to: { kind: 'node', nodeName: 'n9', nodeUid: 'uid-n9' } },
        ],
      },
    ],
  ])('has another name for %s', (_what, more) =>
    expect(commandOf(proposal(more)).name).not.toBe(commandOf(proposal()).name),
  );

  test.each<[string, Partial<Proposal>]>([
    ['no node out', { nodesOut: [], moves: [] }],
    ['a node out twice', { nodesOut: [out('n1'), out('n1')], moves: [] }],
    ['a bin twice', { nodesIn: [bought('bin-0'), bought('bin-0')] }],
    ['a pod that moves twice', { moves: [move('p1', 'n1', 'bin-0'), move('p1', 'n1', 'bin-0')] }],
    ['a pod of a node that stays', { moves: [move('p1', 'n7', 'bin-0')] }],
    ['a pod for an unknown bin', { moves: [move('p1', 'n1', 'bin-7')] }],
    ['a bin that is dearer than its cap', { nodesIn: [bought('bin-0', 150_001)] }],
    ['no cost', { disruptionCost: 0 }],
    [
      'a pod for a node that goes',
      {
        moves: [
          { ...move('p1', 'n1', ''), to: { kind: 'node', nodeName: 'n2', nodeUid: 'uid-n2' } },
        ],
      },
    ],
  ])('is refused with %s', (_what, more) =>
    expect(() => commandOf(proposal(more))).toThrow(InvariantError),
  );
});
