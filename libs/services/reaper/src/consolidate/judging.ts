import type { PlanReply } from '@dovetail/contracts';
import {
  type Candidate,
  type Candidates,
  type Command,
  type DisruptionNote,
  imbalanceOf,
  isUnsettled,
  type Judged,
  judgeRemoval,
  judgeReplacement,
  nodesInMax,
  note,
  type ReplacementRules,
  scoresOf,
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

/** The things that a command may do beside giving up its nodes, and what it is judged by. */
type Allowed = {
  readonly totals: Candidates['totals'];
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
  { totals, mayBuy, openNodes, isSecondLook = false }: Allowed,
): Promise<JudgedAnswer | undefined> {
  const unpriced = candidates.filter((one) => mayBuy && one.priceMicrosPerHour === 0);
  const reply = await askWhatIf(context, {
    nodes: candidates.map(({ view }) => view.node),
    pods: candidates.flatMap(({ pods }) => pods),
    // The price of a new node is judged afterwards, so that an Event says if none is cheaper.
    ...(mayBuy && unpriced.length === 0 ? {} : { priceBelowMicrosPerHour: 0 }),
    ...(openNodes === undefined ? {} : { openNodes }),
    isRecorded: isSecondLook,
  });
  if (reply === undefined) return undefined;
  const still = candidates.map((candidate) => ({
    ...candidate,
    pods: candidate.pods.filter(({ uid }) => context.cluster.pods.get(uid) !== undefined),
  }));
  const judged = judge(context, still, reply);
  if (judged.kind === 'stays') return { ...judged, note: withUnpriced(judged.note, unpriced) };
  const scores = scoresOf(judged.command, still, totals);
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
  { deps, config, cluster, vainTypes }: ReaperContext,
  candidates: readonly Candidate[],
  { plan, statePosition: position }: PlanReply,
): Judged {
  const nowMs = deps.clock.nowMs();
  // Asked for the few nodes that pods would move to: to look at all takes longer than the rest.
  const unsettled = (uid: string): boolean => {
    const view = cluster.viewOfUid(uid);
    return view !== undefined && isUnsettled(view, nowMs);
  };
  const { moveCostMicrosPerHour } = config.disruption;
  if (config.consolidation === 'delete')
    return judgeRemoval(at(candidates, 0), { plan, position }, unsettled, {
      moveCostMicrosPerHour,
    });
  const { microsPerHour: savingMin, share: savingShareMin } =
    config.disruption.replacementSavingMin;
  const { spotToSpot } = config;
  const several = config.consolidation === 'search' ? { nodesInMax } : {};
  const isLeftOut: ReplacementRules['isLeftOut'] = (...of) => vainTypes.isLeftOut(...of);
  const saving = { savingMin, savingShareMin, moveCostMicrosPerHour };
  const valuesOfType: ReplacementRules['valuesOfType'] = (...of) => cluster.prices.valuesOf(...of);
  const rules = { spotToSpot, ...saving, isLeftOut, valuesOfType, ...several };
  return judgeReplacement(candidates, { plan, position }, unsettled, rules);
}
