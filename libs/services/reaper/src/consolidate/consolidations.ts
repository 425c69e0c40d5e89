import { annotations } from '@dovetail/core-api';
import {
  type Candidate,
  type Candidates,
  type Command,
  consolidationCandidates,
  type DisruptionNote,
  judgeRemoval,
  note,
  parseRetirement,
  unsettledUids,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import { messageOf, type StopSignal } from '@dovetail/core-ports';
import { countText } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { tellExhausted, tellStays } from '../outside/disruption-events.js';
import { askWhatIf } from '../outside/what-ifs.js';
import type { Retirer } from '../retire/retirer.js';

/** A turn that lasts longer is hung: far over the longest search and the wait after it. */
const turnMsMax = 900_000;

/** Prices, budgets and solvers change without a change of the cluster (Karpenter: 5 min). */
const idleMsMax = 300_000;

/**
 * Consolidation: gives up under-used nodes whose pods fit on others, one at a time. A command is
 * proposed on what a solver says, waits, and is judged again. Only then the node is tainted; from
 * there on, its retirement is carried on like any other.
 */
export class Consolidations {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  /** Claims that this round has looked at in vain, by UID: the next turn begins with the others. */
  readonly #looked = new Set<string>();
  /** Counts the changes of the cluster. */
  #changes = 0;
  /** A whole round found nothing: nothing is searched until the count moves, or until the time. */
  #idle = { changes: -1, untilMs: 0 };
  #last: Candidates | undefined;
  /** Why the last look left a node, by the UID of its claim. */
  readonly #said = new Map<string, DisruptionNote>();

  constructor(context: ReaperContext, retirer: Retirer) {
    this.#context = context;
    this.#retirer = retirer;
  }

  /** The nodes that the last search looked at, for /debug/state. */
  last(): Candidates | undefined {
    return this.#last;
  }

  /** The reason why the node of this claim was left when it was last looked at. */
  lastNoteOn(claimUid: string): DisruptionNote | undefined {
    return this.#said.get(claimUid);
  }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    if (config.consolidation === 'none') return;
    const unsubscribe = cluster.subscribe(() => (this.#changes += 1));
    try {
      while (!stop.aborted) {
        await this.#turn(stop);
        await deps.clock.sleep(config.disruption.passIntervalMs, stop);
      }
    } finally {
      unsubscribe();
    }
  }

  async #turn(stop: StopSignal): Promise<void> {
    const { deps, cluster } = this.#context;
    if (!cluster.synced() || this.#isUnderWay()) return;
    try {
      await deps.vitals.turn('consolidation', turnMsMax, () => this.#consolidate(stop));
    } catch (error) {
      deps.metrics.count('dovetail_loop_failures_total', { loop: 'consolidation' });
      const why = `looking for under-used nodes failed: ${messageOf(error)}; trying again`;
      deps.log.warn('consolidation-failed', why);
    }
  }

  /** Whether a command is being carried out. The next is judged on what it leaves. */
  #isUnderWay(): boolean {
    const { cluster } = this.#context;
    return [...cluster.claims.values()].some((claim) => {
      const text = cluster.nodeOfClaim(claim)?.annotations[annotations.retirement];
      return parseRetirement(text)?.cause === 'underutilized';
    });
  }

  async #consolidate(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const [startMs, changes] = [deps.clock.nowMs(), this.#changes];
    if (changes === this.#idle.changes && startMs < this.#idle.untilMs) return;
    const found = (this.#last = this.#find());
    const { candidates, stays, exhausted, nextDueMs = Infinity } = found;
    for (const { view, notes } of stays) tellStays(this.#context.events, view, at(notes, 0));
    for (const { pool, note } of exhausted) tellExhausted(this.#context.events, pool, note);
    const untilMs = startMs + config.disruption.consolidationSearchMsMax;
    const fresh = candidates.filter(({ view }) => !this.#looked.has(view.claim.uid));
    for (const candidate of fresh) {
      if (stop.aborted || deps.clock.nowMs() >= untilMs) return;
      this.#looked.add(candidate.view.claim.uid);
      const command = await this.#judge(candidate);
      if (command === undefined) continue;
      this.#looked.clear();
      return this.#carryOut(command, candidate, stop);
    }
    this.#looked.clear();
    for (const uid of this.#said.keys())
      if (this.#context.cluster.claims.get(uid) === undefined) this.#said.delete(uid);
    this.#idle = { changes, untilMs: Math.min(nextDueMs, startMs + idleMsMax) };
  }

  #find(): Candidates {
    const { deps, cluster } = this.#context;
    return consolidationCandidates(cluster.views(), {
      budgetsOf: cluster.budgetsOf,
      podOf: (uid) => cluster.pods.get(uid),
      nowMs: deps.clock.nowMs(),
      pauses: (claim) => this.#retirer.pauses(claim),
    });
  }

  /** The command that gives up the candidate, if its pods fit elsewhere. */
  async #judge(candidate: Candidate): Promise<Command | undefined> {
    const { deps, cluster } = this.#context;
    const question = {
      nodes: [candidate.view.node],
      pods: candidate.pods,
      priceBelowMicrosPerHour: 0,
    };
    const reply = await askWhatIf(this.#context, question);
    if (reply === undefined) return undefined;
    const unsettled = unsettledUids(cluster.views(), deps.clock.nowMs());
    const whatIf = { plan: reply.plan, position: reply.statePosition };
    const judged = judgeRemoval(candidate, whatIf, unsettled);
    if (judged.kind === 'command') return judged.command;
    this.#said.set(candidate.view.claim.uid, judged.note);
    tellStays(this.#context.events, candidate.view, judged.note);
    return undefined;
  }

  /** Waits, judges the command again on what is there then, and begins it if it still stands. */
  async #carryOut(proposed: Command, judged: Candidate, stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const { name, moves } = proposed;
    const about = { command: name, node: judged.view.node.name, claim: judged.view.claim.name };
    const pods = countText(moves.length, 'pod');
    deps.log.info('consolidation-proposed', `${about.node} may go: ${pods} fit elsewhere`, about);
    await deps.clock.sleep(config.disruption.validationDelayMs, stop);
    if (stop.aborted || this.#isUnderWay()) return;
    const { uid } = judged.view.claim;
    const again = this.#find().candidates.find(({ view }) => view.claim.uid === uid);
    const command = again === undefined ? undefined : await this.#judge(again);
    if (again === undefined || command === undefined) {
      deps.metrics.count('karpenter_voluntary_disruption_failed_validations_total');
      deps.log.info('consolidation-outdated', `${about.node} stays: it is needed again`, about);
      return;
    }
    const why = note('underutilized', `${about.node} is under-used: ${pods} fit on other nodes`, {
      command: command.name,
      pods: moves.length,
      savedMicrosPerHour: command.priceBeforeMicrosPerHour,
    });
    const atMs = deps.clock.nowMs();
    const retirement = { cause: 'underutilized', atMs, detail: command.name } as const;
    await this.#retirer.begin(again.view, retirement, why);
  }
}
