import type { AdmissionNumber, PlanMessage, Verdict } from '@dovetail/contracts';
import { annotations, type NodeClaim, parsePromise } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import type { Reason } from '@dovetail/core-scheduling';

import { parseAdmissionMark } from '../cluster/admission-mark.js';
import { type JudgedBin, placementId } from './judged.js';
import { reason } from './reason.js';

type Round = { readonly admission: AdmissionNumber; readonly atMs: number };

/** The outcome of each pod of a plan: by the bin that was judged for it, or left over. */
export const verdictsOf = (
  plan: PlanMessage,
  outcomes: readonly JudgedBin[],
  round: Round,
): readonly Verdict[] => [
  ...outcomes.filter((bin) => bin.plan === plan).flatMap((bin) => verdictsOfBin(bin, round)),
  ...verdictsOfUnplaced(plan, round),
];

/** The outcome of each pod of a bin. */
function verdictsOfBin(bin: JudgedBin, round: Round): readonly Verdict[] {
  const outcome = bin.kind === 'refused' ? 'refused' : 'admitted';
  // Pods that are held back off like pods that fit nowhere: longer each time, until a change.
  const held = new Set(bin.kind === 'refused' ? bin.heldPodUids : []);
  return bin.podUids.map((podUid) => ({
    podUid,
    outcome: held.has(podUid) ? 'unplaced' : outcome,
    planId: bin.plan.id,
    binId: bin.binId,
    ...round,
    reasons: bin.kind === 'refused' ? bin.reasons : [],
  }));
}

/** The outcome of the pods that the planner found no place for. */
const verdictsOfUnplaced = (plan: PlanMessage, round: Round): readonly Verdict[] =>
  plan.plan.unplaced.map(({ podUid, reasons }) => ({
    podUid,
    outcome: 'unplaced',
    planId: plan.id,
    binId: '',
    ...round,
    reasons,
  }));

/**
 * The verdicts of a plan that was judged before: by this launcher, which no longer keeps its
 * answer, or by its predecessor, whose answer was lost. A bin with a claim or a promise was
 * admitted; the rest of the round is void.
 */
export const repeatedVerdicts = (
  plan: PlanMessage,
  cluster: Cluster,
  round: Round,
): readonly Verdict[] => [
  ...carriedBins(plan, cluster, round).flatMap((bin) =>
    bin.podUids.map((podUid) => repeatedVerdict(plan, bin, podUid, round)),
  ),
  ...verdictsOfUnplaced(plan, round),
];

/** A bin of an earlier round, and the admission that let it through; undefined when none did. */
type CarriedBin = {
  readonly binId: string;
  readonly podUids: readonly string[];
  readonly admission: AdmissionNumber | undefined;
};

function carriedBins(plan: PlanMessage, cluster: Cluster, round: Round): readonly CarriedBin[] {
  const marked = new Map<string, AdmissionNumber>();
  for (const { mark } of claimsOfPlan(cluster, plan.id)) marked.set(mark.binId, mark.admission);
  const nodes = plan.plan.newNodes.map(({ id, podUids }) => ({
    binId: id,
    podUids,
    admission: marked.get(id),
  }));
  const placements = plan.plan.placements.map((placement, index) => ({
    binId: placementId(index),
    podUids: placement.podUids,
    admission: promisedAt(cluster, placement, round),
  }));
  return [...nodes, ...placements];
}

const repeatedVerdict = (
  plan: PlanMessage,
  { binId, admission }: CarriedBin,
  podUid: string,
  round: Round,
): Verdict => ({
  podUid,
  outcome: admission === undefined ? 'refused' : 'admitted',
  planId: plan.id,
  binId,
  admission: admission ?? round.admission,
  reasons: admission === undefined ? [roundVoided(plan.id)] : [],
  atMs: round.atMs,
});

const roundVoided = (planId: string): Reason =>
  reason(
    'round-voided',
    'an earlier round judged this plan and left neither a claim nor a promise for this bin',
    { planId },
  );

/** A claim with the admission mark that names its plan and bin. */
export type ClaimOfPlan = {
  readonly claim: NodeClaim;
  readonly mark: NonNullable<ReturnType<typeof parseAdmissionMark>>;
};

/** The claims that bins of this plan became. */
export function claimsOfPlan(cluster: Cluster, planId: string): readonly ClaimOfPlan[] {
  return cluster.claims.by('plan', planId).flatMap((claim) => {
    const mark = parseAdmissionMark(claim.annotations[annotations.admission]);
    return mark === undefined ? [] : [{ claim, mark }];
  });
}

function promisedAt(
  cluster: Cluster,
  placement: { readonly nodeUid: string; readonly podUids: readonly string[] },
  round: Round,
): AdmissionNumber | undefined {
  const holder = cluster.claims.get(placement.nodeUid) ?? cluster.nodes.get(placement.nodeUid);
  const promise = parsePromise(holder?.annotations[annotations.promise]);
  return promise !== undefined && placement.podUids.every((uid) => promise.podUids.includes(uid))
    ? round.admission
    : undefined;
}
