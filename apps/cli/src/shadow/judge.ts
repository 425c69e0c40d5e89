import { type NodeClaim, nodeClaimOf, poolKey } from '@dovetail/core-api';
import {
  compareRound,
  type Comparison,
  type EndedNode,
  keptSetsOf,
  type PricedNode,
  type Round,
} from '@dovetail/core-disruption';
import { present } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';
import type { Plan, PoolOptions } from '@dovetail/core-scheduling';
import {
  defaultPlanOptions,
  defaultSizing,
  finishMsPerNode,
  plan,
} from '@dovetail/core-scheduling';

import { offeringOf, runningNodes } from '../consolidate/running.js';
import { errorOf, Problems } from '../manifests/problems.js';
import type { Catalog } from '../simulate/catalog.js';
import { inventoryOf } from '../simulate/kinds.js';
import { type PlanningInput, planningInputOf } from '../simulate/planning-input.js';
import { before, type Objects, sourcesOf } from './cluster-state.js';
import type { ShadowRequest } from './request.js';

/** A round, the objects when it was complete, and the end of the time in which its pods came. */
type Seen = { readonly round: Round; readonly objects: Objects; readonly untilMs: number };

/** A round that was planned anew and waits for the prices of its claims. */
export type Judged = {
  readonly seen: Seen;
  /** The pods that the round was for: those that waited, and those of nodes that end. */
  readonly pods: number;
  readonly pools: ReadonlyMap<string, PoolOptions>;
  readonly compare: (launched: readonly PricedNode[]) => Comparison;
};

function timedPlan(input: PlanningInput, { budgetMs, sizing }: ShadowRequest): Plan {
  const startMs = performance.now();
  return plan(input.snapshot, input.pods, {
    ...defaultPlanOptions,
    ...defaultSizing,
    ...sizing,
    stepsMax: budgetMs > 0 ? defaultPlanOptions.stepsMax : 0,
    shouldStop: (nodes) =>
      budgetMs > 0 && performance.now() - startMs + nodes * finishMsPerNode >= budgetMs,
  });
}

/** The planner's input for a round, with the nodes of these claims as they were. */
async function inputKeeping(
  kept: ReadonlySet<string>,
  { round, objects, untilMs }: Seen,
  catalog: Catalog,
): Promise<PlanningInput> {
  const change = {
    launched: new Set(round.launched),
    ended: new Set(round.ended.map(({ claimUid }) => claimUid)),
    kept,
    untilMs,
  };
  const problems = new Problems();
  const inventory = await inventoryOf(sourcesOf(before(objects, change)), problems);
  const input = await planningInputOf(inventory, catalog);
  // A comparison without some of the objects would be unfair.
  if (problems.leftOut !== undefined) throw errorOf(problems.leftOut);
  return input;
}

const keyOf = (kept: ReadonlySet<string>): string => [...kept].sort(compareText).join(' ');

/**
 * Plans what a round was for, from the cluster as it was. Throws InputError for an object that
 * cannot be read.
 */
export async function judge(seen: Seen, catalog: Catalog, request: ShadowRequest): Promise<Judged> {
  const all = new Set(seen.round.ended.map(({ claimUid }) => claimUid));
  const whole = await inputKeeping(all, seen, catalog);
  const views = new Map(
    runningNodes(whole.cluster, whole.snapshot).map((view) => [view.claim.uid, view]),
  );
  const ended = seen.round.ended.flatMap(({ claimUid, reason }): readonly EndedNode[] => {
    const view = views.get(claimUid);
    return view === undefined ? [] : [{ view, reason }];
  });
  const { consolidation } = request;
  const plans = new Map<string, Plan>();
  let pods = 0;
  for (const kept of keptSetsOf({ ended, consolidation })) {
    const input = await inputKeeping(kept, seen, catalog);
    pods = Math.max(pods, input.pods.length);
    plans.set(keyOf(kept), timedPlan(input, request));
  }
  const planKeeping = (kept: ReadonlySet<string>): Plan =>
    present(plans.get(keyOf(kept)), 'each set that is asked for was planned');
  return {
    seen,
    pods,
    pools: new Map(whole.snapshot.pools.map((one) => [poolKey(one.pool.identity), one])),
    compare: (launched) => compareRound({ launched, ended, consolidation, planKeeping }),
  };
}

/**
 * The claims of a round with their prices; undefined while some are not launched yet. Those that
 * are gone without an instance were not bought. When it is late, others count as not bought too.
 */
export function launchedOf(
  { seen, pools }: Judged,
  objects: Objects,
  { isLate }: { readonly isLate: boolean },
): readonly PricedNode[] | undefined {
  const claims = objects.get('NodeClaim') ?? new Map<string, KubeObject>();
  const nodes: PricedNode[] = [];
  for (const uid of seen.round.launched) {
    const object = claims.get(uid) ?? seen.objects.get('NodeClaim')?.get(uid);
    const read = nodeClaimOf(object);
    if (!read.ok) continue;
    const priced = pricedOf(read.value, pools);
    if (priced !== undefined) nodes.push(priced);
    else if (!isLate && claims.has(uid) && read.value.deletionMs === undefined) return undefined;
  }
  return nodes;
}

function pricedOf(
  claim: NodeClaim,
  pools: ReadonlyMap<string, PoolOptions>,
): PricedNode | undefined {
  const key = poolKey(claim.pool);
  const options = pools.get(key);
  if (options === undefined || claim.providerId === undefined) return undefined;
  const held = claim.labels;
  const offering = offeringOf(held, options);
  return {
    pool: key,
    instanceType: held['node.kubernetes.io/instance-type'] ?? '',
    zone: held['topology.kubernetes.io/zone'] ?? '',
    capacityType: held['karpenter.sh/capacity-type'] ?? '',
    priceMicrosPerHour: offering?.priceMicrosPerHour ?? 0,
  };
}
