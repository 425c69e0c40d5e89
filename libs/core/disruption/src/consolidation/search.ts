import { poolKey } from '@dovetail/core-api';
import { compareText, type Pod, uprooted } from '@dovetail/core-kube-model';
import {
  checkPlan,
  type ExistingNode,
  type Plan,
  plan,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { NodeView } from '../view.js';
import { afterCommand } from './after-command.js';
import { imbalanceOf } from './balance.js';
import {
  type Candidate,
  type CandidateOptions,
  type Candidates,
  consolidationCandidates,
} from './candidates.js';
import type { Command, JudgedPosition } from './command.js';
import { type PoolTotals, poolTotalsOf } from './costs.js';
import { neighbourhoodsOf, worstFirst } from './neighbourhoods.js';
import { unsettledUids } from './removal.js';
import { judgeReplacement, type ReplacementRules } from './replacement.js';

/** The cluster and the rules that a search for commands reads. */
export type SearchInput = {
  /** The cluster as it runs: every node with its pods. */
  readonly snapshot: Snapshot;
  /** The nodes that may be given up, with their claims and pools. */
  readonly views: readonly NodeView[];
  readonly eligibility: CandidateOptions;
  readonly rules: ReplacementRules;
  /** The options of each plan. Their seed also orders the groups of nodes. */
  readonly options: PlanOptions;
  readonly position: JudgedPosition;
};

/** The limits of a search. */
export type SearchLimits = {
  /** The most plans that are made. */
  readonly triesMax: number;
  /** Asked before each plan; true ends the search. The search learns of time only here. */
  readonly shouldStop: () => boolean;
};

/** The commands that a search found. */
export type Consolidation = {
  /**
   * The most saving per disruption first. Each is safe and worth it alone: it moves no pod to a
   * node that another one buys or gives up. Invariant: no node and no pod is in two commands.
   */
  readonly commands: readonly Command[];
  readonly candidates: Candidates;
  /** The plans that were made. Invariant: at most `triesMax`. */
  readonly tries: number;
  /** `complete`: no group of a whole round saved enough. Else a limit ended the search. */
  readonly ended: 'complete' | 'tries' | 'stopped';
  /** The cluster once all commands are done. Nodes that are bought take no other pods. */
  readonly after: Snapshot;
};

/** The most nodes that one command buys: as many as the largest group gives up. */
const nodesInMax = 16;

/**
 * Searches for commands that make a running cluster cheaper: groups of nodes whose pods fit on the
 * other nodes, or on new nodes that cost less. Rounds go on until one finds nothing. The search
 * ends: each command takes a node from the finite candidates, each round tries finitely many groups
 * of them, and all tries together are limited.
 */
export function searchCommands(input: SearchInput, limits: SearchLimits): Consolidation {
  const search = new Search(input, limits);
  return search.run();
}

/** One search. Invariant: `#left` shrinks with each command, and `#tries` grows with each plan. */
class Search {
  readonly #input: SearchInput;
  readonly #limits: SearchLimits;
  readonly #candidates: Candidates;
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #unsettled: ReadonlySet<string>;
  readonly #totals: ReadonlyMap<string, PoolTotals>;
  readonly #allowed: Map<string, number>;
  readonly #commands: Command[] = [];
  #left: readonly Candidate[];
  #snapshot: Snapshot;
  #tries = 0;
  #ended: Consolidation['ended'] | undefined;

  constructor(input: SearchInput, limits: SearchLimits) {
    this.#input = input;
    this.#limits = limits;
    this.#candidates = consolidationCandidates(input.views, input.eligibility);
    // Without a price no saving can be shown, so a node of unknown price stays.
    this.#left = this.#candidates.candidates.filter(
      ({ priceMicrosPerHour }) => priceMicrosPerHour > 0,
    );
    this.#pods = new Map(this.#left.flatMap(({ pods }) => pods.map((pod) => [pod.uid, pod])));
    this.#unsettled = unsettledUids(input.views, input.eligibility.nowMs);
    this.#totals = poolTotalsOf(input.views);
    this.#allowed = new Map(this.#candidates.allowed);
    this.#snapshot = input.snapshot;
  }

  run(): Consolidation {
    for (let round = 0; this.#ended === undefined; round += 1) {
      const before = this.#commands.length;
      this.#round(round);
      if (this.#commands.length === before) this.#ended ??= 'complete';
    }
    return {
      commands: this.#commands.toSorted((a, b) => b.score - a.score || compareText(a.name, b.name)),
      candidates: this.#candidates,
      tries: this.#tries,
      ended: this.#ended,
      after: this.#snapshot,
    };
  }

  #round(round: number): void {
    for (const group of neighbourhoodsOf(this.#left, this.#input.options.seed + round)) {
      const left = new Set(this.#left);
      // A command of this round may have taken nodes of the group.
      const rest = group.filter((candidate) => left.has(candidate));
      if (rest.length > 0 && this.#isAllowed(rest)) this.#try(rest);
      if (this.#ended !== undefined) return;
    }
  }

  /**
   * Tries the better nodes alone first, so that the worse ones keep free of new pods. If nodes
   * would be bought then, all nodes are tried too, and the larger saving counts.
   */
  #try(group: readonly Candidate[]): void {
    const going = new Set(group);
    const rest = worstFirst(this.#left.filter((candidate) => !going.has(candidate)));
    const worse = rest.slice(0, Math.ceil(rest.length / 2)).map(({ view }) => view.node.uid);
    let best: Command | undefined;
    for (const spared of worse.length === 0 ? [[]] : [worse, []]) {
      const command = this.#commandFor(group, new Set(spared));
      if (command !== undefined && savedBy(command) > savedBy(best)) best = command;
      if (best?.nodesIn.length === 0 || this.#ended !== undefined) break;
    }
    if (best !== undefined) this.#accept(best);
  }

  #commandFor(group: readonly Candidate[], spared: ReadonlySet<string>): Command | undefined {
    if (this.#tries >= this.#limits.triesMax) this.#ended = 'tries';
    else if (this.#limits.shouldStop()) this.#ended = 'stopped';
    if (this.#ended !== undefined) return undefined;
    this.#tries += 1;
    const { options, position, rules } = this.#input;
    const pods = group.flatMap((candidate) => candidate.pods).map(uprooted);
    const closed = (node: ExistingNode): boolean =>
      spared.has(node.uid) || this.#unsettled.has(node.uid);
    const made = plan(without(this.#snapshot, group, closed), pods, options);
    const judged = judgeReplacement(group, { plan: made, position }, this.#unsettled, {
      nodesInMax,
      ...rules,
    });
    if (judged.kind === 'stays' || !isWorth(judged.command, rules)) return undefined;
    if (imbalanceOf(judged.command, group, this.#totals) !== undefined) return undefined;
    return this.#isSafeAlone(group, pods, made) ? judged.command : undefined;
  }

  /** Whether the command may also be done without the ones that were found before it. */
  #isSafeAlone(group: readonly Candidate[], pods: readonly Pod[], made: Plan): boolean {
    if (this.#commands.length === 0) return true;
    const alone = without(this.#input.snapshot, group, () => false);
    return checkPlan(alone, pods, made, this.#input.options).length === 0;
  }

  /** Nodes that gave up or got pods take no further part, so no pod moves twice. */
  #accept(command: Command): void {
    this.#commands.push(command);
    this.#snapshot = afterCommand(this.#snapshot, command, this.#pods);
    const touched = new Set([
      ...command.nodesOut.map(({ nodeUid }) => nodeUid),
      ...command.moves.flatMap(({ to }) => (to.kind === 'node' ? [to.nodeUid] : [])),
    ]);
    this.#left = this.#left.filter(({ view }) => !touched.has(view.node.uid));
    for (const { pool, nodes } of command.budgets) {
      const key = poolKey(pool);
      this.#allowed.set(key, (this.#allowed.get(key) ?? 0) - nodes);
    }
  }

  #isAllowed(group: readonly Candidate[]): boolean {
    const asked = new Map<string, number>();
    for (const { view } of group) {
      const key = poolKey(view.pool.identity);
      asked.set(key, (asked.get(key) ?? 0) + 1);
    }
    return [...asked].every(([key, nodes]) => nodes <= (this.#allowed.get(key) ?? 0));
  }
}

const savedBy = (command: Command | undefined): number =>
  command === undefined ? 0 : command.priceBeforeMicrosPerHour - command.priceAfterMicrosPerHour;

/** The saving that is worth a disruption: above nothing, and not below either threshold. */
function isWorth(command: Command, { savingMin, savingShareMin }: ReplacementRules): boolean {
  const saved = savedBy(command);
  return (
    saved > 0 && saved >= Math.max(savingMin, savingShareMin * command.priceBeforeMicrosPerHour)
  );
}

/** The cluster without the nodes of a group. Nodes that are `closed` take no pods. */
function without(
  snapshot: Snapshot,
  group: readonly Candidate[],
  closed: (node: ExistingNode) => boolean,
): Snapshot {
  const out = new Set(group.map(({ view }) => view.node.uid));
  const nodes = snapshot.nodes
    .filter(({ uid }) => !out.has(uid))
    .map((node) => (closed(node) ? { ...node, cordoned: true } : node));
  return { ...snapshot, nodes };
}
