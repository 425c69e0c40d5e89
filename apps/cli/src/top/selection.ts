import type { NodeState } from '@dovetail/core-fleet';
import { shareOf } from '@dovetail/core-fleet/words';
import { compareText } from '@dovetail/core-kube-model';

import type { TopNode } from './node.js';

/** The columns that rows can be in the order of. */
export const sortKeys = [
  'age',
  'name',
  'pool',
  'type',
  'zone',
  'price',
  'cpu',
  'memory',
  'pods',
  'next',
] as const;

/** Which nodes to show, in which order. An absent part means all. */
export type TopSelection = {
  readonly pool?: string;
  readonly zone?: string;
  readonly type?: string;
  readonly capacityType?: string;
  readonly states?: readonly NodeState[];
  readonly sort: (typeof sortKeys)[number];
  readonly reverse: boolean;
};

/** The value that a column is sorted by. Numbers sort from the greatest on, text from A on. */
const valueOf: Readonly<Record<TopSelection['sort'], (node: TopNode) => number | string>> = {
  age: ({ ageMs }) => ageMs,
  name: ({ node }) => node,
  pool: ({ pool }) => pool,
  type: ({ instanceType }) => instanceType,
  zone: ({ zone }) => zone,
  price: ({ priceMicrosPerHour = 0 }) => priceMicrosPerHour,
  cpu: ({ cpu }) => shareOf(cpu),
  memory: ({ memory }) => shareOf(memory),
  pods: ({ pods }) => pods,
  // The soonest first; a node that already ends comes before all.
  next: ({ state, nextMs }) =>
    state === 'ending' ? Number.POSITIVE_INFINITY : -(nextMs ?? Number.MAX_SAFE_INTEGER),
};

const isChosen =
  ({ pool, zone, type, capacityType, states }: TopSelection) =>
  (node: TopNode): boolean =>
    (pool === undefined || node.pool === pool || node.pool === `NodePool/${pool}`) &&
    (zone === undefined || node.zone === zone) &&
    (type === undefined || node.instanceType === type) &&
    (capacityType === undefined || node.capacityType === capacityType) &&
    (states === undefined || states.includes(node.state));

/** The nodes to show, in their order. Equal ones are in the order of their names. */
export function selected(nodes: readonly TopNode[], selection: TopSelection): readonly TopNode[] {
  const value = valueOf[selection.sort];
  const keyed = nodes.filter(isChosen(selection)).map((node) => ({ node, key: value(node) }));
  const sign = selection.reverse ? -1 : 1;
  return keyed
    .sort((a, b) => sign * compareKeys(a.key, b.key) || compareText(a.node.node, b.node.node))
    .map(({ node }) => node);
}

function compareKeys(a: number | string, b: number | string): number {
  if (typeof a === 'string' || typeof b === 'string') return compareText(String(a), String(b));
  return a === b ? 0 : b > a ? 1 : -1;
}
