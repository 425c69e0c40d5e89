import type { FleetNode } from '@dovetail/core-fleet';
import { type Fill, shareOf, sumOfFills } from '@dovetail/core-fleet/words';
import { compareText } from '@dovetail/core-kube-model/text-order';

/** The nodes of a pool in a zone, together. */
export type GroupRow = {
  readonly kind: 'group';
  /** Names the group among all. */
  readonly key: string;
  readonly pool: string;
  readonly zone: string;
  readonly nodes: number;
  readonly cpu: Fill;
  readonly memory: Fill;
  readonly priceMicrosPerHour: number;
  readonly priceEstimated: boolean;
  readonly isOpen: boolean;
};

/** A row of the table: a group, or a node of the group above it. */
export type TableRow =
  GroupRow | { readonly kind: 'node'; readonly key: string; readonly node: FleetNode };

/** The orders of the nodes of a group. */
export const nodeOrders = ['name', 'fullest', 'emptiest', 'dearest', 'oldest', 'next'] as const;
/** The order of the nodes of a group. */
export type NodeOrder = (typeof nodeOrders)[number];

/** Which nodes the table shows, and how. */
export type TableChoice = {
  /** Words that must all be in a node's name, type, pool, zone, state or cause. */
  readonly filter: string;
  readonly order: NodeOrder;
  /** The keys of groups whose nodes are hidden. */
  readonly closed: ReadonlySet<string>;
};

const fillOf = ({ cpu, memory }: FleetNode): number => Math.max(shareOf(cpu), shareOf(memory));

/** The soonest first; a node that ends comes before all. */
const nextOf = ({ state, next }: FleetNode): number =>
  state === 'ending' ? 0 : (next.atMs ?? Number.MAX_SAFE_INTEGER);

const compare: Readonly<Record<NodeOrder, (a: FleetNode, b: FleetNode) => number>> = {
  name: () => 0,
  fullest: (a, b) => fillOf(b) - fillOf(a),
  emptiest: (a, b) => fillOf(a) - fillOf(b),
  dearest: (a, b) => (b.priceMicrosPerHour ?? 0) - (a.priceMicrosPerHour ?? 0),
  oldest: (a, b) => a.createdMs - b.createdMs,
  next: (a, b) => nextOf(a) - nextOf(b),
};

function isChosen(words: readonly string[], node: FleetNode): boolean {
  if (words.length === 0) return true;
  const { claim, pool, instanceType, capacityType, zone, state, cause = '' } = node;
  const text = [node.node, claim, pool, instanceType, capacityType, zone, state, cause]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The rows of the table: groups in the order of pool and zone, each before its nodes. */
export function tableRows(nodes: Iterable<FleetNode>, choice: TableChoice): readonly TableRow[] {
  const words = choice.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, FleetNode[]>();
  for (const node of nodes) {
    if (!isChosen(words, node)) continue;
    const key = `${node.pool} ${node.zone}`;
    const held = groups.get(key);
    if (held === undefined) groups.set(key, [node]);
    else held.push(node);
  }
  const order = compare[choice.order];
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([key, held]) => {
      const group = groupOf(key, held, !choice.closed.has(key));
      const sorted = group.isOpen
        ? held.sort(
            (a, b) => order(a, b) || compareText(a.node, b.node) || compareText(a.uid, b.uid),
          )
        : [];
      return [group, ...sorted.map((node) => ({ kind: 'node', key: node.uid, node }) as const)];
    });
}

function groupOf(key: string, nodes: readonly FleetNode[], isOpen: boolean): GroupRow {
  const [first] = nodes;
  return {
    kind: 'group',
    key,
    pool: first?.pool ?? '',
    zone: first?.zone ?? '',
    nodes: nodes.length,
    cpu: sumOfFills(nodes.map(({ cpu }) => cpu)),
    memory: sumOfFills(nodes.map(({ memory }) => memory)),
    priceMicrosPerHour: nodes.reduce((sum, one) => sum + (one.priceMicrosPerHour ?? 0), 0),
    priceEstimated: nodes.some(({ priceEstimated }) => priceEstimated),
    isOpen,
  };
}

/** The part of a long table that is drawn. */
export type RowWindow = { readonly first: number; readonly end: number };

/** Rows beyond the edges that are drawn too, so that a quick scroll shows no gap. */
const overscan = 6;

/**
 * The rows that are drawn, all of one height. Only these are elements of the page, however many
 * there are.
 */
export function rowWindow(of: {
  readonly count: number;
  readonly rowHeight: number;
  readonly scrollTop: number;
  readonly height: number;
}): RowWindow {
  const { count, rowHeight, scrollTop, height } = of;
  const shown = Math.ceil(height / rowHeight);
  // A table that has shrunk may be scrolled beyond its end for a moment.
  const top = Math.min(Math.floor(scrollTop / rowHeight), Math.max(0, count - shown));
  return { first: Math.max(0, top - overscan), end: Math.min(count, top + shown + overscan) };
}
