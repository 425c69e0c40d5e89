import { annotations, type DisruptionReason, poolKey } from '@dovetail/core-api';

import { allowedDisruptions } from './budgets.js';
import { consolidatableMs } from './consolidatable.js';
import { type CandidateOptions, consolidationCandidates } from './consolidation/candidates.js';
import { priceOf } from './consolidation/costs.js';
import { driftedType, replaceableDrift } from './drift.js';
import { disruptionBlocks } from './eligibility.js';
import { emptinessOf } from './emptiness.js';
import { allowedExpiries, defaultExpiryLimits, expiryOf } from './expiry.js';
import { censusOf } from './methods.js';
import { type DisruptionNote, note } from './refusal.js';
import { parseRetirement } from './retirement-record.js';
import { conditionTrueSinceMs, isEnding, type NodeView } from './view.js';

/** Whether a node goes for one cause. `due`: nothing in the cause itself holds it any more. */
export type ExplainedOutcome = 'goes' | 'due' | 'later' | 'stays';

/** The answer about one cause for which a node may go, or about one thing that holds it. */
type Explained = {
  readonly about:
    'retirement' | 'expiry' | 'drift' | 'emptiness' | 'consolidation' | 'blocks' | 'budgets';
  readonly outcome: ExplainedOutcome;
  /** Why the node stays all the same, although the cause is due. Absent: nothing holds it. */
  readonly heldBy?: readonly DisruptionNote[];
  /** When the answer changes if nothing else does. */
  readonly dueMs?: number;
  readonly reasons: readonly DisruptionNote[];
};

/** Why a node stays or goes. */
export type NodeExplanation = {
  readonly node?: string;
  readonly claim: string;
  readonly pool: string;
  /** 0 if it is unknown. */
  readonly priceMicrosPerHour: number;
  readonly outcome: ExplainedOutcome;
  /** The decisive reason in a sentence. */
  readonly summary: string;
  readonly answers: readonly Explained[];
};

/** Everything beside the node that explaining it reads. */
export type ExplainOptions = Omit<CandidateOptions, 'pauses'> & {
  /** All nodes of the cluster, with this one: budgets and the policy Balanced count them. */
  readonly views: readonly NodeView[];
  /** Whether under-used nodes are given up at all. */
  readonly consolidates: boolean;
  /** The reason why consolidation left this node when it last looked at it. */
  readonly said?: DisruptionNote;
  /** Why the node's retirement was given up a moment ago. It is left alone for a while. */
  readonly givenUp?: DisruptionNote;
  /** The reason why a drifted node is not replaced now, as a solver said a moment ago. */
  readonly driftHeld?: DisruptionNote;
};

/**
 * Explains why a node stays or goes, by the rules of the decision loops. It decides nothing: a loop
 * reads the node live before it ends it.
 */
export function explainNode(view: NodeView, options: ExplainOptions): NodeExplanation {
  const { claim, node } = view;
  const answers = answersOn(view, options);
  const { outcome, summary } = verdictOf(answers);
  return {
    ...(node === undefined ? {} : { node: node.name }),
    claim: claim.name,
    pool: poolKey(claim.pool),
    priceMicrosPerHour: priceOf(view),
    outcome,
    summary,
    answers,
  };
}

function answersOn(view: NodeView, options: ExplainOptions): readonly Explained[] {
  const retirement = retirementOf(view);
  if (retirement !== undefined) return [retirement];
  const emptiness = withHolds(emptinessAnswer(view, options.nowMs), view, options);
  return [
    withHolds(expiryAnswer(view, options.nowMs), view, options),
    withHolds(driftAnswer(view), view, options, emptiness),
    emptiness,
    ...consolidationAnswer(view, options).map((answer) => withHolds(answer, view, options)),
    ...blocksAnswer(view, options),
    ...budgetsAnswer(view, options),
  ];
}

/** Adds what holds a node although this cause is due. Each cause has its own rules. */
function withHolds(
  answer: Explained,
  view: NodeView,
  options: ExplainOptions,
  emptiness?: Explained,
): Explained {
  if (answer.outcome !== 'due') return answer;
  const { givenUp } = options;
  const holds = givenUp === undefined ? holdsOf(answer.about, view, options, emptiness) : [givenUp];
  return holds.length === 0 ? answer : { ...answer, heldBy: holds };
}

function holdsOf(
  about: Explained['about'],
  view: NodeView,
  options: ExplainOptions,
  emptiness?: Explained,
): readonly DisruptionNote[] {
  switch (about) {
    case 'expiry':
      return paceHolds(view, options);
    case 'emptiness':
      return firstOf(disruptionBlocks(view, options), budgetHolds('Empty', view, options));
    case 'drift':
      // An empty node goes as such, so it waits for what that waits for.
      if (emptiness?.outcome === 'due') return emptiness.heldBy ?? [];
      return firstOf(
        disruptionBlocks(view, { ...options, isEventual: true }),
        budgetHolds('Drifted', view, options),
        options.driftHeld === undefined ? [] : [options.driftHeld],
      );
    case 'consolidation':
      return budgetHolds('Underutilized', view, options);
    case 'retirement':
    case 'blocks':
    case 'budgets':
      return [];
  }
}

const firstOf = (...holds: readonly (readonly DisruptionNote[])[]): readonly DisruptionNote[] =>
  holds.find((notes) => notes.length > 0) ?? [];

/** The most decisive answer: an end under way, one that is due and not held, or what holds it. */
function verdictOf(answers: readonly Explained[]): Pick<NodeExplanation, 'outcome' | 'summary'> {
  const due = answers.filter(({ outcome }) => outcome === 'goes' || outcome === 'due');
  const free = due.find(({ heldBy }) => heldBy === undefined);
  if (free !== undefined) return { outcome: free.outcome, summary: sentenceOf(free.reasons) };
  const heldBy = due[0]?.heldBy;
  if (heldBy !== undefined) return { outcome: 'stays', summary: sentenceOf(heldBy) };
  const decisive =
    answers.find(isNotThereYet) ??
    soonest(answers.filter(({ about }) => about !== 'expiry')) ??
    answers.find(({ about }) => about === 'consolidation') ??
    answers.find(({ about }) => about === 'emptiness');
  return decisive === undefined
    ? { outcome: 'stays', summary: 'nothing asks for its end' }
    : { outcome: decisive.outcome, summary: sentenceOf(decisive.reasons) };
}

const isNotThereYet = ({ reasons }: Explained): boolean =>
  reasons.some(({ code }) => code === 'node-missing' || code === 'node-not-initialized');

const sentenceOf = (reasons: readonly DisruptionNote[]): string =>
  reasons.map(({ message }) => message).join('; ');

const soonest = (answers: readonly Explained[]): Explained | undefined =>
  answers
    .filter(({ outcome }) => outcome === 'later')
    .sort((a, b) => (a.dueMs ?? Infinity) - (b.dueMs ?? Infinity))[0];

function retirementOf(view: NodeView): Explained | undefined {
  const retirement = parseRetirement(view.node?.annotations[annotations.retirement]);
  if (retirement === undefined && !isEnding(view)) return undefined;
  const detail = retirement?.detail === undefined ? '' : ` (${retirement.detail})`;
  const reason =
    retirement === undefined
      ? note('node-deleting', 'Node is deleting or marked for deletion')
      : note(retirement.cause, `it is being retired: ${retirement.cause}${detail}`);
  return { about: 'retirement', outcome: 'goes', reasons: [reason] };
}

function expiryAnswer(view: NodeView, nowMs: number): Explained {
  const expiry = expiryOf(view, nowMs);
  const reasons = [expiry.note];
  if (expiry.kind === 'never') return { about: 'expiry', outcome: 'stays', reasons };
  return { about: 'expiry', outcome: expiry.kind, dueMs: expiry.dueMs, reasons };
}

function driftAnswer(view: NodeView): Explained {
  const about = 'drift';
  const drift = replaceableDrift(view);
  if (drift !== undefined) return { about, outcome: 'due', reasons: [drift.note] };
  const reason =
    conditionTrueSinceMs(view.claim, driftedType) === undefined
      ? note('not-drifted', 'it is as its pool and class ask for')
      : note('drifted', 'it has drifted, and nodes of such a pool are not replaced for it');
  return { about, outcome: 'stays', reasons: [reason] };
}

function emptinessAnswer(view: NodeView, nowMs: number): Explained {
  const about = 'emptiness';
  const emptiness = emptinessOf(view, nowMs);
  switch (emptiness.kind) {
    case 'occupied':
    case 'disabled':
      return { about, outcome: 'stays', reasons: [emptiness.note] };
    case 'mark':
      return { about, outcome: 'later', reasons: [note('countdown', 'it was just seen empty')] };
    case 'counting':
      return { about, outcome: 'later', dueMs: emptiness.dueMs, reasons: [emptiness.note] };
    case 'due':
      return { about, outcome: 'due', reasons: [emptiness.note] };
  }
}

/** Only of nodes with pods: others are judged by their emptiness. */
function consolidationAnswer(view: NodeView, options: ExplainOptions): readonly Explained[] {
  if (emptinessOf(view, options.nowMs).kind !== 'occupied') return [];
  const about = 'consolidation';
  if (!options.consolidates) {
    const off = note('disruption-disabled', 'CONSOLIDATION is none: nodes with pods stay');
    return [{ about, outcome: 'stays', reasons: [off] }];
  }
  const { uid } = view.claim;
  const isThis = (each: { readonly view: NodeView }): boolean => each.view.claim.uid === uid;
  const unlimited = { ...options, pauses: () => false };
  const { stays, beyondBudgets } = consolidationCandidates(options.views, unlimited);
  const notes = stays.find(isThis)?.notes ?? poolNotes(view);
  if (notes !== undefined) return [{ about, outcome: 'stays', reasons: notes }];
  if (beyondBudgets.some(isThis)) {
    const asked = note('underutilized', 'a solver is asked whether its pods fit elsewhere');
    return options.said === undefined
      ? [{ about, outcome: 'due', reasons: [asked] }]
      : [{ about, outcome: 'stays', reasons: [options.said] }];
  }
  const dueMs = consolidatableMs(view);
  if (dueMs === undefined || dueMs <= options.nowMs) return [];
  const seconds = Math.ceil((dueMs - options.nowMs) / 1000);
  const waits = note('countdown', `a pod came or went lately: ${String(seconds)} s are left`, {
    seconds,
  });
  return [{ about, outcome: 'later', dueMs, reasons: [waits] }];
}

function blocksAnswer(view: NodeView, options: ExplainOptions): readonly Explained[] {
  const reasons = disruptionBlocks(view, options);
  return reasons.length === 0 ? [] : [{ about: 'blocks', outcome: 'stays', reasons }];
}

/** Why no node of this pool is given up; undefined: some may be. */
function poolNotes({ pool }: NodeView): readonly DisruptionNote[] | undefined {
  if (pool === undefined) return [note('disruption-disabled', 'the pool is gone')];
  if (pool.replicas === undefined) return undefined;
  return [note('disruption-disabled', 'the pool has replicas: its nodes stay')];
}

/** An expired node waits for others of its pool that expire, and for nothing else. */
function paceHolds({ claim }: NodeView, options: ExplainOptions): readonly DisruptionNote[] {
  const left = allowedExpiries(options.views, options.nowMs, defaultExpiryLimits);
  if (left.get(poolKey(claim.pool)) !== 0) return [];
  return [note('budget-spent', 'as many expired nodes of its pool as may go at a time are going')];
}

function budgetHolds(
  reason: DisruptionReason,
  { pool }: NodeView,
  { views, nowMs }: ExplainOptions,
): readonly DisruptionNote[] {
  if (pool === undefined) return [];
  const census = censusOf(views).get(poolKey(pool.identity)) ?? { nodes: 0, disrupted: 0 };
  const answer = allowedDisruptions(pool.disruption.budgets, reason, census, nowMs);
  return answer.allowed > 0 || answer.note === undefined ? [] : [answer.note];
}

const budgetReasons: readonly DisruptionReason[] = ['Empty', 'Drifted', 'Underutilized'];

/** The reasons for which the pool's budgets let no node go now. */
function budgetsAnswer(view: NodeView, options: ExplainOptions): readonly Explained[] {
  const reasons = budgetReasons.flatMap((reason) => budgetHolds(reason, view, options));
  return reasons.length === 0 ? [] : [{ about: 'budgets', outcome: 'stays', reasons }];
}
