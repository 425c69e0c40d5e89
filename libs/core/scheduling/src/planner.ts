import type { Pod } from '@dovetail/core-kube-model';

import { resourceBound } from './bounds/resource-bound.js';
import { uncharged } from './bounds/uncharged.js';
import { compose } from './compose/compose.js';
import { finish } from './compose/finish.js';
import type { Outcome } from './compose/sequence.js';
import { nodeReasons } from './explain/nodes.js';
import { poolReasons } from './explain/pools.js';
import {
  assertComplete,
  assertEachPodOnce,
  assertLedgersHold,
  assertPricesAddUp,
  cheapestOf,
} from './laws.js';
import type { Plan, Unplaced } from './plan.js';
import { plainReason } from './reasons.js';
import type { PlanOptions, Snapshot } from './snapshot.js';
import { isAssuming, type World, worldOf } from './world/world.js';

function unplacedOf(
  outcome: Outcome,
  restOf: (classIndex: number) => readonly string[],
): readonly Unplaced[] {
  const { engine } = outcome;
  return engine.world.classes.flatMap((cls) => {
    const uids = restOf(cls.index);
    if (uids.length === 0) return [];
    const reasons =
      cls.refusal === undefined
        ? [...poolReasons(engine, cls), ...nodeReasons(engine, cls)]
        : [cls.refusal];
    const plain = reasons.map(plainReason);
    return uids.map((podUid) => ({ podUid, reasons: plain }));
  });
}

/** Returns how the nodes were sized, as the plan says it. */
const sizingOf = (world: World): Pick<Plan, 'nodeChargeMicrosPerHour' | 'assumedRequests'> => ({
  ...(world.options.nodeChargeMicrosPerHour === 0
    ? {}
    : { nodeChargeMicrosPerHour: world.options.nodeChargeMicrosPerHour }),
  ...(isAssuming(world) ? { assumedRequests: world.options.assumedRequests } : {}),
});

function planOf(world: World, outcome: Outcome & { readonly steps: number }): Plan {
  const { snapshot, options } = world;
  options.giveWay?.();
  const { newNodes, placements, restOf } = finish(outcome);
  options.giveWay?.();
  const instanceTypes = new Set(
    world.templates.flatMap((template) => template.offers.map(({ type }) => type.type.name)),
  );
  return {
    stateSequence: snapshot.stateSequence,
    catalogRevision: snapshot.catalogRevision,
    admissionHead: snapshot.admissionHead,
    seed: options.seed,
    steps: outcome.steps,
    newNodes,
    placements,
    unplaced: unplacedOf(outcome, restOf),
    priceMicrosPerHour: newNodes.reduce(
      (sum, node) => sum + cheapestOf(node).priceMicrosPerHour,
      0,
    ),
    ...sizingOf(outcome.engine.world),
    bound: uncharged(resourceBound(outcome.engine), newNodes.length, options),
    stats: {
      pods: world.classes.reduce((sum, cls) => sum + cls.uids.length, 0),
      classes: world.classes.length,
      instanceTypes: instanceTypes.size,
    },
  };
}

/** Asserts the laws of `plan`, in production too. Throws InvariantError. */
function assertLaws(made: Plan, { engine }: Outcome, pods: readonly Pod[]): void {
  assertEachPodOnce(made, pods);
  assertComplete(made);
  assertPricesAddUp(made);
  assertLedgersHold(engine);
}

/**
 * Places every pod on existing room or on the cheapest new nodes that may hold it, or explains why
 * it cannot. Every pod is in exactly one of `newNodes`, `placements` and `unplaced`. The function
 * is pure: equal snapshot, pods, seed and steps give an equal plan, byte for byte. No manifest
 * makes it throw; a broken law of its own does (InvariantError).
 */
export function plan(snapshot: Snapshot, pods: readonly Pod[], options: PlanOptions): Plan {
  const world = worldOf(snapshot, pods, options);
  const outcome = compose(world);
  const made = planOf(world, outcome);
  assertLaws(made, outcome, pods);
  return made;
}
