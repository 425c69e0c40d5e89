import type { PlanSketch } from '@dovetail/core-scheduling';

/** A plan in the figures that are compared. */
export type PlanFigures = {
  readonly nodes: number;
  readonly priceMicrosPerHour: number;
  readonly placedPods: number;
  readonly unplacedPods: number;
};

/** The new nodes of one kind, as recorded and now. */
export type NodeRow = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly recorded: number;
  readonly now: number;
  /** The price of one of them now; as recorded if none is planned now. */
  readonly priceMicrosPerHour: number;
};

/** The result of making a plan again. */
export type Outcome = {
  readonly planId: string;
  /** Whether it is the recorded plan, byte for byte. With changes it may be another. */
  readonly same: boolean;
  /** The changes that were asked for, as written. */
  readonly changes: readonly string[];
  readonly recorded: PlanFigures;
  readonly now: PlanFigures;
  /** New nodes by what they are bought as: rows that differ most come first. */
  readonly nodes: readonly NodeRow[];
  /** UIDs of pods that have a place in one of the two plans alone. */
  readonly placedNow: readonly string[];
  readonly unplacedNow: readonly string[];
};

const figuresOf = ({
  nodes,
  placedPods,
  unplaced,
  priceMicrosPerHour,
}: PlanSketch): PlanFigures => ({
  nodes: nodes.length,
  priceMicrosPerHour,
  placedPods: nodes.reduce((sum, { pods }) => sum + pods, placedPods),
  unplacedPods: unplaced.length,
});

type Plans = { readonly recorded: PlanSketch; readonly now: PlanSketch };

function nodeRows(plans: Plans): readonly NodeRow[] {
  const rows = new Map<string, NodeRow>();
  for (const side of ['recorded', 'now'] as const)
    for (const { instanceType, zone, capacityType, priceMicrosPerHour } of plans[side].nodes) {
      const key = [instanceType, zone, capacityType].join('/');
      const { recorded = 0, now = 0 } = rows.get(key) ?? {};
      const counted = { recorded, now, [side]: (side === 'now' ? now : recorded) + 1 };
      rows.set(key, { instanceType, zone, capacityType, priceMicrosPerHour, ...counted });
    }
  const change = ({ now, recorded }: NodeRow): number => Math.abs(now - recorded);
  return [...rows.values()].sort((a, b) => change(b) - change(a) || b.recorded - a.recorded);
}

/** Compares a plan that was made again with the recorded one. */
export function outcomeOf(
  plans: Plans,
  about: Pick<Outcome, 'planId' | 'same' | 'changes'>,
): Outcome {
  const unplaced = (side: keyof Plans): ReadonlySet<string> =>
    new Set(plans[side].unplaced.map(({ uid }) => uid));
  const [before, after] = [unplaced('recorded'), unplaced('now')];
  return {
    ...about,
    recorded: figuresOf(plans.recorded),
    now: figuresOf(plans.now),
    nodes: nodeRows(plans),
    placedNow: [...before].filter((uid) => !after.has(uid)),
    unplacedNow: [...after].filter((uid) => !before.has(uid)),
  };
}
