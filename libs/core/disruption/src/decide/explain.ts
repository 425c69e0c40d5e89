import { annotations, type DisruptionReason, nodePriceOf, poolKey } from '@dovetail/core-api';

import { causeOf, causes } from '../causes/cause.js';
import type { CauseFacts, Due, Standing } from '../causes/standing.js';
import { notWorthwhile } from '../consolidation/candidates.js';
import { type DisruptionNote, note } from '../facts/refusal.js';
import { parseRetirement, type RetirementCause } from '../facts/retirement-record.js';
import { isEnding, type NodeView } from '../facts/view.js';
import { BudgetAccount } from '../rules/account.js';
import { priceOf } from '../rules/costs.js';
import { disruptionBlocks } from '../rules/eligibility.js';
import { causeFactsOf, type DecisionFacts, standingsOf } from './decide.js';

/** Whether a node goes for one cause. `due`: nothing in the cause itself holds it any more. */
export type ExplainedOutcome = 'goes' | 'due' | 'later' | 'stays';

/** The answer about one cause for which a node may go, or about one thing that holds it. */
type Explained = {
  readonly about: string;
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
  /** Whether the price is estimated, as the record of the launch says. Absent: it is not. */
  readonly priceEstimated?: true;
  readonly outcome: ExplainedOutcome;
  /** The decisive reason in a sentence. */
  readonly summary: string;
  readonly answers: readonly Explained[];
};

/** Everything beside the node that explaining it reads. */
export type ExplainOptions = Omit<DecisionFacts, 'pauses' | 'areBudgetsKnown'> & {
  /** All nodes of the cluster, with this one: budgets and the policy Balanced count them. */
  readonly views: readonly NodeView[];
  /** Why the node's retirement was given up a moment ago. It is left alone for a while. */
  readonly givenUp?: DisruptionNote;
};

/** The options of explaining, in the shape in which they are asked for. */
type Reading = {
  readonly options: ExplainOptions;
  readonly facts: CauseFacts;
  readonly account: BudgetAccount;
};

/**
 * Explains why a node stays or goes, by what a pass decides on. It decides nothing: a
 * node is read live before it ends.
 */
export function explainNode(view: NodeView, options: ExplainOptions): NodeExplanation {
  const { claim, node } = view;
  const answers = answersOn(view, {
    options,
    facts: causeFactsOf(options),
    account: new BudgetAccount(options.views, options.nowMs),
  });
  const { outcome, summary } = decisiveOf(answers);
  return {
    ...(node === undefined ? {} : { node: node.name }),
    claim: claim.name,
    pool: poolKey(claim.pool),
    priceMicrosPerHour: priceOf(view),
    ...(nodePriceOf(claim)?.priceEstimated === true ? { priceEstimated: true } : {}),
    outcome,
    summary,
    answers,
  };
}

function answersOn(view: NodeView, reading: Reading): readonly Explained[] {
  const retirement = retirementOf(view);
  if (retirement !== undefined) return [retirement];
  return [
    ...standingsOf(view, reading.facts).flatMap(([cause, standing]) =>
      answerOf(cause, standing, view, reading),
    ),
    ...blocksAnswer(view, reading.facts),
    ...budgetsAnswer(view, reading.account),
  ];
}

function answerOf(
  cause: RetirementCause,
  standing: Standing,
  view: NodeView,
  reading: Reading,
): readonly Explained[] {
  const { about } = causes[cause];
  if (standing.kind !== 'due') {
    const { kind: outcome, notes: reasons } = standing;
    const dueMs = standing.kind === 'later' ? standing.dueMs : undefined;
    if (reasons.length === 0) return [];
    return [{ about, outcome, reasons, ...(dueMs === undefined ? {} : { dueMs }) }];
  }
  const heldBy = holdsOf(cause, standing, view, reading);
  const answer = {
    about,
    outcome: 'due',
    dueMs: standing.sinceMs,
    reasons: [standing.note],
  } as const;
  return [heldBy.length === 0 ? answer : { ...answer, heldBy }];
}

/** The reason that holds a node although a cause asks for its end: the first one in a pass. */
function holdsOf(
  cause: RetirementCause,
  { record, held, left }: Due,
  view: NodeView,
  { options: { givenUp, views, nowMs }, account }: Reading,
): readonly DisruptionNote[] {
  const { takesOver, budget, begunBy } = causeOf({ cause, ...record });
  if (givenUp !== undefined && !takesOver) return [givenUp];
  if (held.length > 0) return held;
  const ofBudget = budget === undefined ? undefined : budgetHold(view, budget, account);
  // A search looks at no node that no budget lets go, so what it said of one may be old.
  const further =
    begunBy === 'search'
      ? [ofBudget, left, notWorthwhile(view, views)]
      : [left, paceHold(cause, view, views, nowMs), ofBudget];
  return further.filter((one) => one !== undefined).slice(0, 1);
}

/** A node waits for others of its pool that go for the same cause. */
function paceHold(
  cause: RetirementCause,
  { claim }: NodeView,
  views: readonly NodeView[],
  nowMs: number,
): DisruptionNote | undefined {
  if (causes[cause].pace?.(views, nowMs).get(poolKey(claim.pool)) !== 0) return undefined;
  return note('budget-spent', `as many ${cause} nodes of its pool as may go at a time are going`);
}

function budgetHold(
  view: NodeView,
  reason: DisruptionReason,
  account: BudgetAccount,
): DisruptionNote | undefined {
  const { allowed, note: why } = account.answer(view, reason);
  return allowed > 0 ? undefined : why;
}

/** The most decisive answer: an end under way, one that is due and not held, or what holds it. */
function decisiveOf(answers: readonly Explained[]): Pick<NodeExplanation, 'outcome' | 'summary'> {
  const due = answers.filter(({ outcome }) => outcome === 'goes' || outcome === 'due');
  const free = due.find(({ heldBy }) => heldBy === undefined);
  if (free !== undefined) return { outcome: free.outcome, summary: sentenceOf(free.reasons) };
  const heldBy = due[0]?.heldBy;
  if (heldBy !== undefined) return { outcome: 'stays', summary: sentenceOf(heldBy) };
  const decisive =
    answers.find(isNotThereYet) ??
    soonest(answers.filter(({ about }) => about !== causes.expired.about)) ??
    answers.find(({ about }) => about === causes.underutilized.about) ??
    answers.find(({ about }) => about === causes.empty.about);
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

function blocksAnswer(view: NodeView, facts: CauseFacts): readonly Explained[] {
  const reasons = disruptionBlocks(view, facts);
  return reasons.length === 0 ? [] : [{ about: 'blocks', outcome: 'stays', reasons }];
}

/** The reasons for which the pool's budgets let no node go now. */
function budgetsAnswer(view: NodeView, account: BudgetAccount): readonly Explained[] {
  const reasons = Object.values(causes).flatMap(({ budget }) =>
    budget === undefined ? [] : (budgetHold(view, budget, account) ?? []),
  );
  return reasons.length === 0 ? [] : [{ about: 'budgets', outcome: 'stays', reasons }];
}
