import type { PlanReply } from '@dovetail/contracts';
import {
  type Candidate,
  type Command,
  type DisruptionNote,
  imbalanceOf,
  type Judged,
  judgeRemoval,
  judgeReplacement,
  poolTotalsOf,
  unsettledUids,
} from '@dovetail/core-disruption';

import type { ReaperContext } from '../context.js';
import { askWhatIf } from '../outside/what-ifs.js';
import { movedTooSoon } from './moved-pods.js';

/** A command with the solver's answer that it was judged on, or the reason why its node stays. */
export type JudgedAnswer =
  | { readonly kind: 'command'; readonly command: Command; readonly reply: PlanReply }
  | { readonly kind: 'stays'; readonly note: DisruptionNote };

/**
 * Asks a solver where the pods of a candidate would go, and judges its answer. Undefined: no solver
 * has answered.
 */
export async function judgeLive(
  context: ReaperContext,
  candidate: Candidate,
): Promise<JudgedAnswer | undefined> {
  const { view, pods, priceMicrosPerHour } = candidate;
  const isBuying = context.config.consolidation === 'replace';
  const reply = await askWhatIf(context, {
    nodes: [view.node],
    pods,
    priceBelowMicrosPerHour: isBuying ? priceMicrosPerHour : 0,
  });
  if (reply === undefined) return undefined;
  const judged = judge(context, candidate, reply);
  if (judged.kind === 'stays') return judged;
  const totals = poolTotalsOf(context.cluster.views());
  const held =
    imbalanceOf(judged.command, [candidate], totals) ?? movedTooSoon(context, judged.command);
  return held === undefined ? { ...judged, reply } : { kind: 'stays', note: held };
}

function judge(
  { deps, config, cluster }: ReaperContext,
  candidate: Candidate,
  { plan, statePosition: position }: PlanReply,
): Judged {
  const unsettled = unsettledUids(cluster.views(), deps.clock.nowMs());
  if (config.consolidation !== 'replace')
    return judgeRemoval(candidate, { plan, position }, unsettled);
  const { microsPerHour: savingMin, share: savingShareMin } =
    config.disruption.replacementSavingMin;
  const { spotToSpot } = config;
  const rules = { spotToSpot, savingMin, savingShareMin };
  return judgeReplacement([candidate], { plan, position }, unsettled, rules);
}
