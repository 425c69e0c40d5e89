import { poolKey } from '@dovetail/core-api';
import { compareText, type Pod, uprooted } from '@dovetail/core-kube-model';
import {
  checkPlan,
  type ExistingNode,
  plan,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { NodeView } from '../facts/view.js';
import { type PoolTotals, poolTotalsOf } from '../rules/costs.js';
import { afterCommand } from './after-command.js';
import { imbalanceOf, scoresOf } from './balance.js';
import {
  type Candidate,
  type CandidateOptions,
  type Candidates,
  consolidationCandidates,
} from './candidates.js';
import type { Command, JudgedPosition } from './command.js';
import { neighbourhoodsOf, worstFirst } from './neighbourhoods.js';
import type { Part } from './parts.js';
import { cutsOf, regionsOf } from './regions.js';
import { type IsUnsettled, unsettledAmong } from './removal.js';
import { bestOf, type Repacked, repacked } from './repacking.js';
import { judgeReplacement, type ReplacementRules } from './replacement.js';
import { needsAllNodes, without } from './surroundings.js';
import { Worths } from './worths.js';

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
  /**
   * Whether budgets allow each command alone (the others wait), or all commands together. Absent:
   * all.
   */
  readonly budgets?: 'each' | 'all';
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

/** The most nodes that one command buys. It gives up a hundred at most, as Karpenter does. */
export const nodesInMax = 40;

/**
 * Searches for commands that make a running cluster cheaper: groups of nodes whose pods fit on the
 * other nodes, or on new nodes that cost less. First whole regions are repacked: some nodes go, and
 * the others fill up. Then smaller groups are tried, until a round finds nothing. The search ends:
 * regions are finite, each command of a round takes a node from the finite candidates, and all
 * tries together are limited.
 */
export function searchCommands(input: SearchInput, limits: SearchLimits): Consolidation {
  const slices = searchInSlices(input, limits);
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}

/**
 * The same search in slices: it yields before each plan, so that a caller may do other work between
 * two of them.
 */
export function searchInSlices(
  input: SearchInput,
  limits: SearchLimits,
): Generator<undefined, Consolidation> {
  return new Search(input, limits).run();
}

/** One search. Invariant: `#left` shrinks with each command, and `#tries` grows with each plan. */
class Search {
  readonly #input: SearchInput;
  readonly #limits: SearchLimits;
  readonly #candidates: Candidates;
  readonly #pods: ReadonlyMap<string, Pod>;
  readonly #isUnsettled: IsUnsettled;
  readonly #totals: ReadonlyMap<string, PoolTotals>;
  readonly #needsAll: boolean;
  readonly #allowed: Map<string, number>;
  readonly #commands: Command[] = [];
  #left: readonly Candidate[];
  #snapshot: Snapshot;
  #worths = new Worths(new Map());
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
    this.#isUnsettled = unsettledAmong(input.views, input.eligibility.nowMs);
    this.#totals = poolTotalsOf(input.views);
    this.#needsAll = needsAllNodes(input.snapshot);
    this.#allowed = new Map(this.#candidates.allowed);
    this.#snapshot = input.snapshot;
  }

  *run(): Generator<undefined, Consolidation> {
    yield* this.#repack();
    for (let round = 0; this.#ended === undefined; round += 1) {
      const before = this.#commands.length;
      yield* this.#round(round);
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

  /** Repacks the cluster region by region. */
  *#repack(): Generator<undefined, void> {
    const { options } = this.#input;
    if (this.#left.length < 2) return;
    const worths = (this.#worths = Worths.of(this.#snapshot, this.#left, options));
    const going = new Set(this.#left.map(({ view }) => view.node.uid));
    const rooms = this.#snapshot.nodes.filter((node) => !going.has(node.uid) && this.#takes(node));
    for (const region of regionsOf(worths.goFirst(this.#left), rooms)) {
      const ways: Repacked[] = [];
      for (const cut of cutsOf(region, worths, this.#allowed, this.#input.budgets)) {
        yield;
        if (!this.#begins()) break;
        const made = repacked(region, cut, {
          ...this.#input,
          snapshot: this.#snapshot,
          needsAll: this.#needsAll,
          takes: (node) => this.#takes(node),
          isAllowed: (group) => this.#isAllowed(group),
        });
        if (made !== undefined) ways.push(made);
      }
      yield* this.#acceptParts(bestOf(ways)?.parts ?? []);
      if (this.#ended !== undefined) return;
    }
  }

  *#acceptParts(parts: readonly Part[]): Generator<undefined, void> {
    for (const { candidates, plan: made } of parts) {
      yield;
      const command = this.#isAllowed(candidates) ? this.#judged(candidates, made) : undefined;
      if (command !== undefined) this.#accept(command);
    }
  }

  *#round(round: number): Generator<undefined, void> {
    const wasteful = this.#left.filter((candidate) => this.#worths.isWasteful(candidate));
    for (const group of neighbourhoodsOf(wasteful, this.#input.options.seed + round)) {
      const left = new Set(this.#left);
      // A command of this round may have taken nodes of the group.
      const rest = group.filter((candidate) => left.has(candidate));
      if (rest.length > 0 && this.#isAllowed(rest)) {
        yield* this.#try(rest);
      }
      if (this.#ended !== undefined) return;
    }
  }

  /**
   * Tries the better nodes alone first, so that the worse ones keep free of new pods. If nodes
   * would be bought then, all nodes are tried too, and the larger saving counts.
   */
  *#try(group: readonly Candidate[]): Generator<undefined, void> {
    const going = new Set(group);
    const rest = worstFirst(this.#left.filter((candidate) => !going.has(candidate)));
    const worse = rest.slice(0, Math.ceil(rest.length / 2)).map(({ view }) => view.node.uid);
    let best: Command | undefined;
    for (const spared of worse.length === 0 ? [[]] : [worse, []]) {
      yield;
      const command = this.#commandFor(group, new Set(spared));
      if (command !== undefined && savedBy(command) > savedBy(best)) best = command;
      if (best?.nodesIn.length === 0 || this.#ended !== undefined) break;
    }
    if (best !== undefined) this.#accept(best);
  }

  #commandFor(group: readonly Candidate[], spared: ReadonlySet<string>): Command | undefined {
    if (!this.#begins()) return undefined;
    const pods = group.flatMap((candidate) => candidate.pods).map(uprooted);
    const isOpen = (node: ExistingNode): boolean => !spared.has(node.uid) && this.#takes(node);
    const seen = without(this.#snapshot, group, { isOpen, needsAll: this.#needsAll });
    return this.#judged(group, plan(seen, pods, this.#input.options));
  }

  /** Counts a try; false when a limit ends the search instead. */
  #begins(): boolean {
    if (this.#tries >= this.#limits.triesMax) this.#ended = 'tries';
    else if (this.#limits.shouldStop()) this.#ended = 'stopped';
    if (this.#ended !== undefined) return false;
    this.#tries += 1;
    return true;
  }

  #takes(node: ExistingNode): boolean {
    return !node.cordoned && !this.#isUnsettled(node.uid);
  }

  /** The command that carries the plan out, if it is worth it and safe alone. */
  #judged(group: readonly Candidate[], made: Part['plan']): Command | undefined {
    const { position, rules } = this.#input;
    const judged = judgeReplacement(group, { plan: made, position }, this.#isUnsettled, {
      nodesInMax,
      ...rules,
    });
    if (judged.kind === 'stays' || !isWorth(judged.command, rules)) return undefined;
    const scores = scoresOf(judged.command, group, this.#totals);
    if (imbalanceOf(scores) !== undefined) return undefined;
    return this.#isSafeAlone(group, made) ? judged.command : undefined;
  }

  /** Whether the command may also be done without the ones that were found before it. */
  #isSafeAlone(group: readonly Candidate[], made: Part['plan']): boolean {
    if (this.#commands.length === 0) return true;
    const pods = group.flatMap((candidate) => candidate.pods).map(uprooted);
    const places = new Set(made.placements.map(({ nodeUid }) => nodeUid));
    const alone = without(this.#input.snapshot, group, {
      isOpen: ({ uid }) => this.#needsAll || places.has(uid),
      needsAll: this.#needsAll,
    });
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
    if (this.#input.budgets === 'each') return;
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
