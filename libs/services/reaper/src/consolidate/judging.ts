import type { PlanReply } from '@dovetail/contracts';
import {
  type Candidate,
  type Command,
  type DisruptionNote,
  imbalanceOf,
  type Judged,
  judgeRemoval,
  judgeReplacement,
  nodesInMax,
  type NodeView,
  note,
  poolTotalsOf,
  scoresOf,
  unsettledUids,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';

import type { ReaperContext } from '../context.js';
import { askWhatIf } from '../outside/what-ifs.js';
import { countScores } from '../retire/disruption-counts.js';
import { movedTooSoon } from './moved-pods.js';

/** A command with the solver's answer that it was judged on, or the reason why its node stays. */
export type JudgedAnswer =
  | { readonly kind: 'command'; readonly command: Command; readonly reply: PlanReply }
  | { readonly kind: 'stays'; readonly note: DisruptionNote };

/** The things that a command may do beside giving up its nodes. */
type Allowed = {
  readonly mayBuy: boolean;
  /** The names of the nodes that may take pods. Absent: all. */
  readonly openNodes?: readonly string[];
  /** The command was judged before, so its score is not counted again. */
  readonly isSecondLook?: boolean;
};

/**
 * Asks a solver where the pods of candidates would go without them, and judges its answer.
 * Undefined: no solver has answered.
 */
export async function judgeLive(
  context: ReaperContext,
  candidates: readonly Candidate[],
  { mayBuy, openNodes, isSecondLook = false }: Allowed,
): Promise<JudgedAnswer | undefined> {
  const unpriced = candidates.filter((one) => mayBuy && one.priceMicrosPerHour === 0);
  const reply = await askWhatIf(context, {
    nodes: candidates.map(({ view }) => view.node),
    pods: candidates.flatMap(({ pods }) => pods),
    // The price of a new node is judged afterwards, so that an Event says if none is cheaper.
    ...(mayBuy && unpriced.length === 0 ? {} : { priceBelowMicrosPerHour: 0 }),
    ...(openNodes === undefined ? {} : { openNodes }),
  });
  if (reply === undefined) return undefined;
  const still = candidates.map((candidate) => ({
    ...candidate,
    pods: candidate.pods.filter(({ uid }) => context.cluster.pods.get(uid) !== undefined),
  }));
  // One look at all nodes for both: it takes as long as the rest.
  const views = context.cluster.views();
  const judged = judge(context, still, { reply, views });
  if (judged.kind === 'stays') return { ...judged, note: withUnpriced(judged.note, unpriced) };
  const scores = scoresOf(judged.command, still, poolTotalsOf(views));
  if (!isSecondLook) countScores(context.deps.metrics, scores);
  const held = imbalanceOf(scores) ?? movedTooSoon(context, judged.command);
  return held === undefined ? { ...judged, reply } : { kind: 'stays', note: held };
}

/** The note on nodes that stay. It says if an unknown price keeps them from cheaper ones. */
function withUnpriced({ code, message, values }: DisruptionNote, unpriced: readonly Candidate[]) {
  const [first] = unpriced;
  if (first === undefined) return note(code, message, values);
  const { name } = first.view.node;
  return note(
    code,
    `${message}; nothing cheaper is looked for, as the price of ${name} is unknown`,
    { ...values, unpriced: name },
  );
}

function judge(
  { deps, config }: ReaperContext,
  candidates: readonly Candidate[],
  {
    reply: { plan, statePosition: position },
    views,
  }: { readonly reply: PlanReply; readonly views: readonly NodeView[] },
): Judged {
  const unsettled = unsettledUids(views, deps.clock.nowMs());
  if (config.consolidation === 'delete')
    return judgeRemoval(at(candidates, 0), { plan, position }, unsettled);
  const { microsPerHour: savingMin, share: savingShareMin } =
    config.disruption.replacementSavingMin;
  const { spotToSpot } = config;
  const several = config.consolidation === 'search' ? { nodesInMax } : {};
  const rules = { spotToSpot, savingMin, savingShareMin, ...several };
  return judgeReplacement(candidates, { plan, position }, unsettled, rules);
}
