import type { AdmissionNumber, PlanMessage, Verdict } from '@dovetail/contracts';
import { annotations, parsePromise, type NodeClaim } from '@dovetail/core-api';
import type { Reason } from '@dovetail/core-scheduling';
import type { World } from '../world/world.js';
import { placementId, type JudgedBin } from './judged.js';
import { parseAdmissionMark } from './number.js';
import { reason } from './reasons.js';

type Round = { readonly admission: AdmissionNumber; readonly atMs: number };

/** What becomes of each pod of a bin. */
export function verdictsOfBin(bin: JudgedBin, round: Round): readonly Verdict[] {
  const outcome = bin.kind === 'refused' ? 'refused' : 'admitted';
  return bin.podUids.map((podUid) => ({ podUid, outcome, planId: bin.plan.id, binId: bin.binId, ...round, reasons: bin.kind === 'refused' ? bin.reasons : [] }));
}

/** What becomes of the pods that the planner found no place for. */
export const verdictsOfUnplaced = (plan: PlanMessage, round: Round): readonly Verdict[] =>
  plan.plan.unplaced.map(({ podUid, reasons }) => ({ podUid, outcome: 'unplaced', planId: plan.id, binId: '', ...round, reasons }));

/**
 * The verdicts of a plan that was judged before, by this launcher or by its predecessor whose answer was lost: what has its claim or
 * promise was admitted, the rest is void.
 */
export function retoldVerdicts(plan: PlanMessage, world: World, round: Round): readonly Verdict[] {
  const marked = new Map<string, AdmissionNumber>();
  for (const claim of claimsOfPlan(world, plan.id)) marked.set(claim.mark.binId, claim.mark.admission);
  const voided = reason('round-voided', 'the launcher that was judging this plan was replaced before it had finished', { planId: plan.id });
  const bins = [
    ...plan.plan.newNodes.map((bin) => ({ binId: bin.id, podUids: bin.podUids, admission: marked.get(bin.id) })),
    ...plan.plan.placements.map((placement, index) => ({ binId: placementId(index), podUids: placement.podUids, admission: promisedAt(world, placement, round) })),
  ];
  const told = bins.flatMap(({ binId, podUids, admission }) => podUids.map((podUid): Verdict => {
    const reasons: readonly Reason[] = admission === undefined ? [voided] : [];
    return { podUid, outcome: admission === undefined ? 'refused' : 'admitted', planId: plan.id, binId, admission: admission ?? round.admission, reasons, atMs: round.atMs };
  }));
  return [...told, ...verdictsOfUnplaced(plan, round)];
}

export type ClaimOfPlan = { readonly claim: NodeClaim; readonly mark: NonNullable<ReturnType<typeof parseAdmissionMark>> };

/** The claims that bins of this plan became. */
export function claimsOfPlan(world: World, planId: string): readonly ClaimOfPlan[] {
  return world.claims.by('plan', planId).flatMap((claim) => {
    const mark = parseAdmissionMark(claim.annotations[annotations.admission]);
    return mark === undefined ? [] : [{ claim, mark }];
  });
}

function promisedAt(world: World, placement: { readonly nodeUid: string; readonly podUids: readonly string[] }, round: Round): AdmissionNumber | undefined {
  const holder = world.claims.get(placement.nodeUid) ?? world.nodes.get(placement.nodeUid);
  const promise = parsePromise(holder?.annotations[annotations.promise]);
  return promise !== undefined && placement.podUids.every((uid) => promise.podUids.includes(uid)) ? round.admission : undefined;
}
