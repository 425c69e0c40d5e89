import type { FleetNode } from '@dovetail/core-fleet';

import type { BusLink, DecisionRow, Frame, ViewParts } from './frames.js';

/** The most decisions that a page lists. The stream keeps more. */
export const decisionsShownMax = 300;

/** Everything that the page shows. A frame makes a new one; parts that are equal stay the same. */
export type View = ViewParts & {
  readonly cluster: string;
  readonly bus: BusLink;
  /** By UID, in the order of their arrival. */
  readonly nodes: ReadonlyMap<string, FleetNode>;
  /** The newest first. */
  readonly decisions: readonly DecisionRow[];
  /** The console's clock at the last frame. */
  readonly nowMs: number;
};

/** The view before the first frame. */
export const emptyView: View = {
  cluster: '',
  bus: { state: 'reading', sinceMs: 0 },
  nodes: new Map(),
  decisions: [],
  nowMs: 0,
  pools: [],
  waiting: { total: 0, rows: [] },
  cost: [],
  gap: { bounds: [] },
  rounds: [],
  services: [],
};

/** The view after a frame. */
export function applied(view: View, frame: Frame): View {
  const base = frame.kind === 'whole' ? emptyView : view;
  const { pools, waiting, cost, gap, rounds, services } = { ...base, ...frame };
  return {
    cluster: frame.cluster,
    bus: frame.bus,
    nowMs: frame.nowMs,
    nodes: nodesAfter(base.nodes, frame.nodes),
    decisions: decisionsAfter(base.decisions, frame.decisions),
    pools,
    waiting,
    cost,
    gap,
    rounds,
    services,
  };
}

function nodesAfter(before: View['nodes'], change: Frame['nodes']): View['nodes'] {
  if (change === undefined || change.set.length + change.gone.length === 0) return before;
  const nodes = new Map(before);
  for (const uid of change.gone) nodes.delete(uid);
  for (const node of change.set) nodes.set(node.uid, node);
  return nodes;
}

function decisionsAfter(
  before: View['decisions'],
  come: readonly DecisionRow[] = [],
): View['decisions'] {
  if (come.length === 0) return before;
  return [...come.toReversed(), ...before].slice(0, decisionsShownMax);
}
