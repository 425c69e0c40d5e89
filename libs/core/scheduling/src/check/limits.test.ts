import { describe, expect, test } from 'vitest';

import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, Snapshot } from '../snapshot.js';
import { hostsOf } from '../testing/hosts.js';
import { gibibytes, nodeOf, offeringOf, poolOf, snapshotOf, typeOf } from '../testing/objects.js';
import { limitViolations, reservationViolations } from './limits.js';

const reservation = { id: 'cr', remaining: 1 };
const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores),
    offerings: [offeringOf('a', 'on-demand', 100), offeringOf('a', 'reserved', 0, { reservation })],
  }),
);
const bought = (instanceType: string): BinOption => ({
  instanceType,
  zone: 'a',
  capacityType: 'on-demand',
  priceMicrosPerHour: 100,
});
const reserved = (instanceType: string): BinOption => ({
  ...bought(instanceType),
  capacityType: 'reserved',
  priceMicrosPerHour: 0,
  reservationId: 'cr',
});
const bins = (...options: readonly (readonly BinOption[])[]): readonly NewNode[] =>
  options.map((some, index) => ({
    id: `bin-${index}`,
    pool: { kind: 'NodePool', name: 'default' },
    options: some,
    requirements: [],
    labels: {},
    taints: [],
    requests: {},
    podUids: [],
    topologyGroups: [],
    minValuesRelaxed: false,
    notes: [],
  }));
const judged = (
  newNodes: readonly NewNode[],
  limits: Readonly<Record<string, number>>,
  nodes: readonly ExistingNode[] = [],
): readonly string[] => {
  const snapshot: Snapshot = snapshotOf({
    pools: [{ pool: poolOf('default', { limits }), instanceTypes: types }],
    nodes,
  });
  const hosts = hostsOf(snapshot, { newNodes, podsOn: new Map() }, new Set());
  return [...limitViolations(hosts, snapshot), ...reservationViolations(hosts, snapshot)].map(
    ({ where, message }) => `${where}: ${message}`,
  );
};
const [small, either] = [[bought('m.2')], [bought('m.2'), bought('m.4')]];

describe('the limits of a pool', () => {
  const over = (text: string) => [`NodePool/default: ${text}`];
  const mine = (node: Partial<ExistingNode> = {}) =>
    nodeOf('n', { poolKey: 'NodePool/default', ...node });
  test.each<
    [string, readonly NewNode[], Record<string, number>, ExistingNode[], readonly string[]]
  >([
    ['are reached', bins(small, small), { cpu: 4000 }, [], []],
    [
      'are passed',
      bins(small, small),
      { cpu: 3999 },
      [],
      over('0 + 4000 cpu is over the limit of 3999'),
    ],
    [
      'count a new node as its largest option',
      bins(either),
      { cpu: 3000 },
      [],
      over('0 + 4000 cpu is over the limit of 3000'),
    ],
    [
      'count what the pool has',
      bins(small),
      { cpu: 5000 },
      [mine()],
      over('4000 + 2000 cpu is over the limit of 5000'),
    ],
    [
      'count nodes',
      bins(small, small),
      { nodes: 2 },
      [mine()],
      over('1 + 2 nodes is over the limit of 2'),
    ],
    [
      'do not count a node that is being deleted',
      bins(small),
      { nodes: 1 },
      [mine({ state: 'deleting' })],
      [],
    ],
    ['do not count nodes of other pools', bins(small), { nodes: 1 }, [nodeOf('n')], []],
    ['that are passed already do not matter without new nodes', [], { nodes: 0 }, [mine()], []],
    ['do not regard a resource that no node has', bins(small), { gpu: 0 }, [], []],
    [
      'are named one by one',
      bins(small),
      { cpu: 1, nodes: 0 },
      [],
      [
        ...over('0 + 2000 cpu is over the limit of 1'),
        ...over('0 + 1 nodes is over the limit of 0'),
      ],
    ],
  ])('%s', (_, newNodes, limits, nodes, expected) => {
    expect(judged(newNodes, limits, nodes)).toEqual(expected);
  });
});

describe('a reservation with one instance left', () => {
  test.each<[string, readonly NewNode[], readonly string[]]>([
    ['serves one node', bins([reserved('m.2')]), []],
    ['serves one node that names it twice', bins([reserved('m.2'), reserved('m.4')]), []],
    ['does not concern nodes that are bought', bins(small, small, [reserved('m.2')]), []],
    [
      'does not serve two',
      bins([reserved('m.2')], [reserved('m.4')]),
      ['cr: 2 nodes name reservation cr, which has room for 1'],
    ],
  ])('%s', (_, newNodes, expected) => expect(judged(newNodes, {})).toEqual(expected));
});
