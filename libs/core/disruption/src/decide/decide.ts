import { type NodeClaim, poolKey } from '@dovetail/core-api';
import { compareText, isReschedulable } from '@dovetail/core-kube-model';

import { type Cause, causeOf, causes } from '../causes/cause.js';
import { type EmptyMarks, emptyMarks } from '../causes/emptiness.js';
import {
  type AskingCause,
  type CauseFacts,
  type Due,
  isAsking,
  type Standing,
} from '../causes/standing.js';
import type { DisruptionNote } from '../facts/refusal.js';
import type { RetirementCause } from '../facts/retirement-record.js';
import { isEnding, isInitialized, type NodeView } from '../facts/view.js';
import { BudgetAccount, type ExhaustedPool } from '../rules/account.js';
import { disruptionBlocks } from '../rules/eligibility.js';
import { healthCensus, type NodeHealth } from '../rules/repair-brake.js';

/** Everything beside the nodes that a pass reads. */
export type DecisionFacts = Omit<CauseFacts, 'health'> & {
  /** The health of every node of the cluster. Absent: unhealthy nodes are not repaired. */
  readonly health?: readonly NodeHealth[];
  /**
   * Whether a claim pauses after a retirement that was given up. It takes nothing from its pool's
   * budget, nor from the nodes that may expire at a time. Absent: none does.
   */
  readonly pauses?: (claim: NodeClaim) => boolean;
  /**
   * False while the PodDisruptionBudgets are not known: then only nodes go whose end does not ask
   * them. Absent: they are known.
   */
  readonly areBudgetsKnown?: boolean;
};

/** A node to retire now. */
export type Beginning = {
  readonly view: NodeView;
  readonly cause: RetirementCause;
  readonly note: DisruptionNote;
  readonly record?: Due['record'];
};

/** A node about whose pods a solver is to be asked, and the cause that it is due for. */
export type Asking = { readonly view: NodeView; readonly cause: AskingCause };

/** A node that may not go now although a cause asks for its end, with every reason. */
type BlockedNode = {
  readonly view: NodeView;
  /** Absent: it is no node that takes part in the cluster yet. */
  readonly cause?: RetirementCause;
  readonly notes: readonly DisruptionNote[];
};

/** The result of one pass over all nodes. */
export type Decision = EmptyMarks & {
  readonly begin: readonly Beginning[];
  /**
   * Nodes that may go as soon as a solver says that their pods have another place. They use up
   * their budget already, the next of them first.
   */
  readonly ask: readonly Asking[];
  readonly blocked: readonly BlockedNode[];
  /** Pools whose budget held back nodes that were due. */
  readonly exhausted: readonly ExhaustedPool[];
  /** The account of the budgets, with all that this pass takes. */
  readonly account: BudgetAccount;
  /** How many nodes are due for each cause, and held by nothing but their pool's budgets. */
  readonly eligible: ReadonlyMap<RetirementCause, number>;
  /** How many nodes are due and stay for now. */
  readonly waiting: number;
  /** When the next node becomes due if nothing changes. Absent: no time runs. */
  readonly nextDueMs?: number;
};

const names = Object.keys(causes) as readonly RetirementCause[];
/** The causes whose retirements a pass begins, in their order. */
const passCauses: readonly RetirementCause[] = names.filter(
  (name) => causes[name].begunBy === 'pass',
);

/** The facts as causes read them. */
export function causeFactsOf({ health, ...facts }: DecisionFacts): CauseFacts {
  if (health === undefined) return facts;
  const conditions = new Map(health.map(({ node, condition }) => [node.uid, condition]));
  const conditionOf = ({ uid }: NodeHealth['node']) => conditions.get(uid);
  return { ...facts, health: { conditionOf, census: healthCensus(health) } };
}

/**
 * How a node stands for each cause, in their order. A node that is going concerns few of them, and
 * a claim with several Nodes none.
 */
export const standingsOf = (
  view: NodeView,
  facts: CauseFacts,
  among: readonly RetirementCause[] = names,
): readonly (readonly [RetirementCause, Standing])[] =>
  view.duplicates === undefined
    ? among
        .filter((name) => causes[name].concernsGoing === true || !isEnding(view))
        .map((name) => [name, causes[name].standingOf(view, facts)])
    : [];

/** How a node stands for the causes of a pass. */
type NodeStandings = {
  readonly standings: readonly (readonly [RetirementCause, Standing])[];
  /** Why a node that takes no part in the cluster yet may not go. */
  readonly blocks?: readonly DisruptionNote[];
};

/**
 * How nodes stood a moment ago, by view. A node that has changed since then has another view, and
 * is looked at again.
 */
export type StandingsByView = ReadonlyMap<NodeView, NodeStandings>;

/** Reads how single nodes stand, for one pass. */
class StandingsReader {
  readonly #options: DecisionFacts;
  readonly #facts: CauseFacts;
  readonly #among: readonly RetirementCause[];

  constructor(options: DecisionFacts) {
    this.#options = options;
    this.#facts = causeFactsOf(options);
    this.#among =
      options.areBudgetsKnown === false
        ? passCauses.filter((name) => causes[name].blocks === 'none')
        : passCauses;
  }

  /** A node that takes no part in the cluster goes only for causes that ask nothing of it. */
  at(view: NodeView): NodeStandings {
    if (view.node !== undefined && isInitialized(view) && view.duplicates === undefined)
      return { standings: standingsOf(view, this.#facts, this.#among) };
    const among = this.#among.filter((name) => causes[name].blocks === 'none');
    const standings = standingsOf(view, this.#facts, among);
    if (isEnding(view) || this.#options.areBudgetsKnown === false) return { standings };
    return { standings, blocks: disruptionBlocks(view, this.#options) };
  }
}

/**
 * Reads how all nodes stand and yields after each, for `decide` afterwards: in a large cluster this
 * takes longer than one turn may.
 */
export function* standingsInSteps(
  views: readonly NodeView[],
  facts: DecisionFacts,
): Generator<undefined, StandingsByView> {
  const reader = new StandingsReader(facts);
  const known = new Map<NodeView, NodeStandings>();
  for (const view of views) {
    yield;
    known.set(view, reader.at(view));
  }
  return known;
}

/** A node that is due for a cause. */
type Candidate = { readonly view: NodeView; readonly due: Due };

const hasMovingPods = ({ view }: Candidate): boolean => view.pods.some(isReschedulable);

/** The order among nodes that are due for a cause: the longest due first. */
const inOrder =
  ({ emptiestFirst }: Cause) =>
  (a: Candidate, b: Candidate): number =>
    (emptiestFirst === true ? Number(hasMovingPods(a)) - Number(hasMovingPods(b)) : 0) ||
    a.due.sinceMs - b.due.sinceMs ||
    compareText(a.view.claim.name, b.view.claim.name);

/** Gathers what the causes say of all nodes. Invariant: every view is added once. */
class Gathered {
  readonly #options: DecisionFacts;
  readonly due = new Map<RetirementCause, Candidate[]>();
  readonly blocked: BlockedNode[] = [];
  readonly waiting = new Set<NodeView>();
  nextDueMs = Infinity;

  constructor(options: DecisionFacts) {
    this.#options = options;
  }

  add(view: NodeView, { standings, blocks }: NodeStandings): void {
    if (blocks !== undefined) this.blocked.push({ view, notes: blocks });
    for (const [cause, standing] of standings) {
      if (standing.kind === 'later' && standing.dueMs !== undefined)
        this.nextDueMs = Math.min(this.nextDueMs, standing.dueMs);
      if (standing.kind === 'due') this.#addDue(view, cause, standing);
    }
  }

  #addDue(view: NodeView, cause: RetirementCause, due: Due): void {
    this.waiting.add(view);
    const { takesOver } = causeOf({ cause, ...due.record });
    if (!takesOver && this.#options.pauses?.(view.claim) === true) return;
    if (due.held.length > 0) this.blocked.push({ view, cause, notes: due.held });
    if (due.held.length > 0 || due.left !== undefined) return;
    const found = this.due.get(cause) ?? [];
    this.due.set(cause, found);
    found.push({ view, due });
  }
}

/** Lets nodes go as far as their pools' budgets and the paces of their causes allow. */
class Going {
  readonly #views: readonly NodeView[];
  readonly #nowMs: number;
  readonly #going = new Set<NodeView>();
  readonly account: BudgetAccount;
  readonly begin: Beginning[] = [];
  readonly ask: Asking[] = [];

  constructor(views: readonly NodeView[], nowMs: number) {
    this.#views = views;
    this.#nowMs = nowMs;
    this.account = new BudgetAccount(views, nowMs);
  }

  take(cause: RetirementCause, candidates: readonly Candidate[]): void {
    const row = causes[cause];
    const left = row.pace && new Map(row.pace(this.#views, this.#nowMs));
    for (const { view, due } of candidates.toSorted(inOrder(row))) {
      if (this.#going.has(view)) continue;
      const key = poolKey(view.claim.pool);
      if (left?.get(key) === 0) continue;
      if (!this.account.take(view, causeOf({ cause, ...due.record }).budget)) continue;
      left?.set(key, (left.get(key) ?? 0) - 1);
      this.#going.add(view);
      const { note, record } = due;
      if (due.isToAsk === true && isAsking(cause)) this.ask.push({ view, cause });
      else this.begin.push({ view, cause, note, ...(record === undefined ? {} : { record }) });
    }
  }
}

/**
 * Decides one pass over all nodes, by the table of causes. One account of the budgets holds for all
 * causes: what an earlier one takes is not there for the later ones. The order of the views does
 * not count. `known` was read with the same facts.
 */
export function decide(
  views: readonly NodeView[],
  facts: DecisionFacts,
  known: StandingsByView = new Map(),
): Decision {
  const gathered = new Gathered(facts);
  const reader = new StandingsReader(facts);
  for (const view of views.toSorted((a, b) => compareText(a.claim.name, b.claim.name)))
    gathered.add(view, known.get(view) ?? reader.at(view));
  const going = new Going(views, facts.nowMs);
  for (const cause of passCauses) going.take(cause, gathered.due.get(cause) ?? []);
  const { account, begin, ask } = going;
  return {
    ...emptyMarks(
      views.filter((view) => !isEnding(view)),
      facts.nowMs,
    ),
    begin,
    ask,
    blocked: gathered.blocked,
    exhausted: account.exhausted(),
    account,
    eligible: new Map(passCauses.map((name) => [name, gathered.due.get(name)?.length ?? 0])),
    waiting: gathered.waiting.size - begin.length,
    ...(Number.isFinite(gathered.nextDueMs) ? { nextDueMs: gathered.nextDueMs } : {}),
  };
}
