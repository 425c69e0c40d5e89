import { annotations, type DisruptionReason, poolKey } from '@dovetail/core-api';

import { allowedDisruptions } from './budgets.js';
import { consolidatableMs } from './consolidatable.js';
import { type CandidateOptions, consolidationCandidates } from './consolidation/candidates.js';
import { priceOf } from './consolidation/costs.js';
import { replaceableDrift } from './drift.js';
import { disruptionBlocks } from './eligibility.js';
import { emptinessOf } from './emptiness.js';
import { expiryOf } from './expiry.js';
import { censusOf } from './methods.js';
import { type DisruptionNote, note } from './refusal.js';
import { parseRetirement } from './retirement-record.js';
import { isEnding, type NodeView } from './view.js';

/** Whether a node goes for one cause. `due`: nothing in the cause itself holds it any more. */
export type ExplainedOutcome = 'goes' | 'due' | 'later' | 'stays';

/** The answer about one cause for which a node may go, or about one thing that holds it. */
type Explained = {
  readonly about:
    'retirement' | 'expiry' | 'drift' | 'emptiness' | 'consolidation' | 'blocks' | 'budgets';
  readonly outcome: ExplainedOutcome;
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
export type ExplainOptions = CandidateOptions & {
  /** All nodes of the cluster, with this one: budgets and the policy Balanced count them. */
  readonly views: readonly NodeView[];
  /** Whether under-used nodes are given up at all. */
  readonly consolidates: boolean;
  /** The reason why consolidation left this node when it last looked at it. */
  readonly said?: DisruptionNote;
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
  return [
    expiryAnswer(view, options.nowMs),
    driftAnswer(view),
    emptinessAnswer(view, options.nowMs),
    ...consolidationAnswer(view, options),
    ...blocksAnswer(view, options),
    ...budgetsAnswer(view, options),
  ];
}

/** The most decisive answer: an end under way, one that is due and not held, or what holds it. */
function verdictOf(answers: readonly Explained[]): Pick<NodeExplanation, 'outcome' | 'summary'> {
  const due = answers.filter(({ outcome }) => outcome === 'goes' || outcome === 'due');
  const [first] = due;
  const expires = due.some(({ about, outcome }) => about === 'expiry' || outcome === 'goes');
  const holds = answers.find(({ about }) => about === 'blocks' || about === 'budgets');
  if (first !== undefined && (expires || holds === undefined))
    return { outcome: first.outcome, summary: sentenceOf(first) };
  const decisive =
    (first === undefined ? undefined : holds) ??
    soonest(answers.filter(({ about }) => about !== 'expiry')) ??
    answers.find(({ about }) => about === 'consolidation') ??
    answers.find(({ about }) => about === 'emptiness');
  return decisive === undefined
    ? { outcome: 'stays', summary: 'nothing asks for its end' }
    : { outcome: decisive.outcome, summary: sentenceOf(decisive) };
}

const sentenceOf = ({ reasons }: Explained): string =>
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

function expiryAnswer({ claim }: NodeView, nowMs: number): Explained {
  const expiry = expiryOf(claim, nowMs);
  const reasons = [expiry.note];
  if (expiry.kind === 'never') return { about: 'expiry', outcome: 'stays', reasons };
  return { about: 'expiry', outcome: expiry.kind, dueMs: expiry.dueMs, reasons };
}

function driftAnswer(view: NodeView): Explained {
  const drift = replaceableDrift(view);
  return drift === undefined
    ? {
        about: 'drift',
        outcome: 'stays',
        reasons: [note('not-drifted', 'it is as its pool and class ask for')],
      }
    : { about: 'drift', outcome: 'due', reasons: [drift.note] };
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
  const { candidates, stays } = consolidationCandidates(options.views, options);
  const notes = stays.find(isThis)?.notes;
  if (notes !== undefined) return [{ about, outcome: 'stays', reasons: notes }];
  if (candidates.some(isThis)) {
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

const budgetReasons: readonly DisruptionReason[] = ['Empty', 'Drifted', 'Underutilized'];

/** The reasons for which the pool's budgets let no node go now. */
function budgetsAnswer({ pool }: NodeView, { views, nowMs }: ExplainOptions): readonly Explained[] {
  if (pool === undefined) return [];
  const census = censusOf(views).get(poolKey(pool.identity)) ?? { nodes: 0, disrupted: 0 };
  const reasons = budgetReasons.flatMap((reason) => {
    const answer = allowedDisruptions(pool.disruption.budgets, reason, census, nowMs);
    return answer.allowed > 0 || answer.note === undefined ? [] : [answer.note];
  });
  return reasons.length === 0 ? [] : [{ about: 'budgets', outcome: 'stays', reasons }];
}
