import type { BinOption, Plan } from '../plan.js';

/** A new node of a plan: what it is bought as first, and for how many pods. */
type SketchedNode = Pick<
  BinOption,
  'instanceType' | 'zone' | 'capacityType' | 'priceMicrosPerHour'
> & { readonly pods: number };

/**
 * A plan in few words: enough to compare it with another. The plan itself names hundreds of options
 * for each node, and its input makes it again.
 */
export type PlanSketch = {
  readonly priceMicrosPerHour: number;
  readonly nodes: readonly SketchedNode[];
  /** Pods that go to nodes that exist. */
  readonly placedPods: number;
  readonly unplaced: readonly { readonly uid: string }[];
};

/** The sketch of a plan. */
export const sketchOf = ({
  newNodes,
  placements,
  unplaced,
  priceMicrosPerHour,
}: Plan): PlanSketch => ({
  priceMicrosPerHour,
  nodes: newNodes.flatMap(({ options: [option], podUids }) =>
    option === undefined
      ? []
      : [
          {
            instanceType: option.instanceType,
            zone: option.zone,
            capacityType: option.capacityType,
            priceMicrosPerHour: option.priceMicrosPerHour,
            pods: podUids.length,
          },
        ],
  ),
  placedPods: placements.reduce((sum, { podUids }) => sum + podUids.length, 0),
  unplaced: unplaced.map(({ podUid }) => ({ uid: podUid })),
});
