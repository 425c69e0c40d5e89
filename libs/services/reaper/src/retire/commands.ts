import type { CommandPhase, CommandRecord } from '@dovetail/core-api';
import {
  type CommandStep,
  commandStep,
  type DisruptionNote,
  note,
  podsWithoutRoom,
} from '@dovetail/core-disruption';
import { messageOf, type StopSignal } from '@dovetail/core-ports';
import { type Again, countText, inParallel, Wake, WorkQueue } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { source } from '../deps.js';
import {
  deleteCommandRecord,
  readCommandRecord,
  servesCommandRecords,
  writeCommandEnd,
  writeCommandPhase,
  writeCommandRecord,
} from '../outside/command-records.js';
import { type Beginning, BegunCommands, type Planned, tellBegun } from './begun-commands.js';
import { planOfCommand } from './command-plan.js';
import { partsOf } from './command-told.js';
import { countCommand, countTakenBack } from './disruption-counts.js';
import { KnownCommands } from './known-commands.js';
import {
  carriedAmong,
  type CarriedNode,
  carriersIn,
  type LiveMember,
  liveMembers,
  membersAtOnce,
  watchedMembers,
} from './members.js';
import type { Retirer } from './retirer.js';
import { retirementOf } from './under-used.js';

/** The loop of the commands, in metrics and in what watches over it. */
const loop = 'commands';
/** Pause between two looks at a command that is under way. It trades calls for its speed. */
const lookMs = 1_000;
/**
 * Commands looked at side by side. A look may wait for the answer of a solver, so this is more than
 * the commands that budgets let begin at a time in most clusters.
 */
const commandsAtOnce = 64;
/** How long a command that is over can be read. */
const keptMs = 3_600_000;

/**
 * Carries out commands. One that buys, or that takes several nodes, has a resource: all that must
 * survive a crash is in it, written before the first taint, and in the annotations that carry its
 * name. Each look reads them afresh, so that a successor goes on where the last reaper was: it
 * finishes a command, or takes it back whole. A look that fails, or that waits for a solver, holds
 * up no other command. The removal of one node needs no more than the annotation of that node.
 */
export class Commands {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  /** The command that is being begun here: until then, it is not looked at. */
  #beginning: string | undefined;
  readonly #known: KnownCommands;
  readonly #begun: BegunCommands;
  #isAbsenceTold = false;
  readonly #wake: Wake;
  /** By name. */
  readonly #queue: WorkQueue;
  /** The names that the queue looks at again and again, until nothing is left to do. */
  readonly #queued = new Set<string>();

  constructor(context: ReaperContext, retirer: Retirer) {
    const { deps, config } = context;
    const { clock, vitals } = deps;
    this.#context = context;
    this.#retirer = retirer;
    this.#known = new KnownCommands(deps);
    this.#begun = new BegunCommands(context);
    this.#wake = new Wake(clock);
    this.#queue = new WorkQueue({
      clock,
      concurrency: commandsAtOnce,
      retryMs: lookMs,
      retryMaxMs: config.disruption.passIntervalMs,
      watch: { vitals, name: loop },
      onError: (command, error) => {
        deps.metrics.count('dovetail_loop_failures_total', { loop });
        const message = `looking at command ${command} failed: ${messageOf(error)}; trying again`;
        deps.log.warn('commands-failed', message, { command });
      },
    });
  }

  /** Whether the commands of a predecessor are known, so that others may begin. */
  isKnown(): boolean {
    return this.#known.isSynced();
  }

  /** Whether the cluster can hold commands. Without their definition one node at a time goes. */
  async areServed(): Promise<boolean> {
    const { deps } = this.#context;
    const isServed = await servesCommandRecords(deps);
    if (!isServed && !this.#isAbsenceTold) {
      const message =
        'no command begins that buys or takes several nodes: the API server does not know disruptions.dovetail.sh; apply deploy/crds';
      deps.log.warn('commands-not-served', message);
    }
    this.#isAbsenceTold = !isServed;
    return isServed;
  }

  async run(stop: StopSignal): Promise<void> {
    await Promise.all([
      this.#known.watch(() => this.#wake.raise(), stop),
      this.#queue.run((name) => this.#lookAgain(name), stop),
      this.#find(stop),
    ]);
  }

  /** Finds the commands to look at: soon after one of them has changed, and now and then. */
  async #find(stop: StopSignal): Promise<void> {
    const { deps, cluster, config } = this.#context;
    while (!stop.aborted) {
      const isReady = cluster.knowsForCommands() && this.isKnown();
      if (isReady)
        for (const name of this.#toLookAt()) {
          if (this.#queued.has(name)) continue;
          this.#queued.add(name);
          this.#queue.add(name);
        }
      if (isReady) await this.#wake.wait(stop, config.disruption.passIntervalMs);
      else await deps.clock.sleep(lookMs, stop);
    }
  }

  /** The commands that are carried out, and those that are over and are to be deleted. */
  #toLookAt(): ReadonlySet<string> {
    const nowMs = this.#context.deps.clock.nowMs();
    const due = this.#known.all().filter(({ endedMs = -Infinity }) => nowMs >= endedMs + keptMs);
    return new Set([
      ...due.map(({ name }) => name),
      ...carriersIn(this.#context.cluster).map(({ command }) => command),
    ]);
  }

  async #lookAgain(name: string): Promise<Again> {
    const again = await this.#look(name);
    if (again !== undefined) return again;
    this.#queued.delete(name);
    // A change that came during the look was left to it.
    this.#wake.raise();
    return undefined;
  }

  /** Looks at the command of this name. The answer says when it is to be looked at again. */
  async #look(name: string): Promise<Again> {
    if (name === this.#beginning) return { afterMs: lookMs };
    const named = this.#known.all().filter((one) => one.name === name);
    for (const record of named) {
      if (record.endedMs === undefined) {
        await this.#advance(record);
        return { afterMs: lookMs };
      }
      await this.#deleteOld(record, record.endedMs);
    }
    const carried = carriersIn(this.#context.cluster).filter(({ command }) => command === name);
    if (carried.length === 0) return undefined;
    // The watch may be behind.
    const record = await readCommandRecord(this.#context.deps, name);
    if (record !== undefined && record.endedMs === undefined) return { afterMs: lookMs };
    const notes = [
      note('command-incomplete', `its command ${name} is not there any more`, { command: name }),
    ];
    await inParallel(carried, membersAtOnce, ({ node, claim, retirement }) => {
      const view = { ...this.#context.cluster.viewOf(claim), node };
      return this.#retirer.abandon(view, retirement, notes);
    });
    return { afterMs: lookMs };
  }

  /** Deletes a command that was over long ago. */
  async #deleteOld(record: CommandRecord, endedMs: number): Promise<void> {
    const { kube, clock } = this.#context.deps;
    if (clock.nowMs() < endedMs + keptMs) return;
    await deleteCommandRecord(kube, record);
    this.#known.forget(record);
  }

  async #advance(record: CommandRecord): Promise<void> {
    const watched = await watchedMembers(this.#context, record);
    const step = commandStep(record.phase, watched);
    if (step.kind === 'wait') return this.#do(step, record, watched);
    const members = await liveMembers(this.#context, record);
    return this.#do(this.#stepOf(record, members), record, members);
  }

  #stepOf({ name, phase }: CommandRecord, members: readonly LiveMember[]): CommandStep {
    const late = phase === undefined ? this.#begun.lateNote(name, members) : undefined;
    if (late !== undefined) return { kind: 'advance', phase: 'TakenBack', note: late };
    return commandStep(phase, members);
  }

  async #do(
    step: CommandStep,
    record: CommandRecord,
    members: readonly LiveMember[],
  ): Promise<void> {
    const carried = carriedAmong(members);
    switch (step.kind) {
      case 'advance': {
        const { phase, note: why } = step;
        if (!(await this.#write(record, phase, why))) return undefined;
        if (phase === 'Tainted') await this.#begun.publish(record.name);
        else this.#begun.drop(record.name);
        const told = why === undefined ? {} : { message: why.message };
        return this.#do(commandStep(phase, members), { ...record, phase, ...told }, members);
      }
      case 'wait':
        await this.#begun.publish(record.name);
        return this.#ask(carried);
      case 'end':
        await inParallel(carried, membersAtOnce, ({ view, retirement }) =>
          this.#retirer.end(view, retirement),
        );
        return undefined;
      case 'give-back': {
        const why = note('command-incomplete', record.message ?? 'its command is taken back');
        // They come back as candidates together: the command may be worth another try.
        const free = new Set(record.nodesOut.map(({ claimUid }) => claimUid));
        for (const { view } of carried) free.delete(view.claim.uid);
        const { vain } = this.#retirer;
        const ofFree = [...free].flatMap((uid) => this.#context.cluster.claims.get(uid) ?? []);
        const fresh = ofFree.filter((claim) => !vain.pauses(claim));
        await inParallel(fresh, membersAtOnce, (claim) => vain.pause(claim, why));
        await inParallel(carried, membersAtOnce, ({ view, retirement }) =>
          this.#retirer.abandon(view, retirement, [why]),
        );
        return undefined;
      }
      case 'forget':
        return this.#forget(record);
    }
  }

  /**
   * Asks for the pods without room. While one of the nodes waits for an answer, no other asks: they
   * share one plan, so that their pods are not promised the same room.
   */
  async #ask(carried: readonly CarriedNode[]): Promise<void> {
    const { cluster } = this.#context;
    const isAwaiting = carried.some(
      ({ step, view: { pods } }) =>
        step.kind === 'wait' && podsWithoutRoom(pods, cluster.roomsFor(pods).rooms).length > 0,
    );
    if (isAwaiting) return;
    const asking = carried.filter(({ step }) => step.kind === 'ask');
    await inParallel(asking, Math.max(1, asking.length), ({ view }) =>
      this.#retirer.ask(view.claim.name),
    );
  }

  /** The command is over. It stays for people to read, unless it never began. */
  async #forget(record: CommandRecord): Promise<void> {
    const { deps } = this.#context;
    this.#begun.drop(record.name);
    if (record.phase === undefined) await deleteCommandRecord(deps.kube, record);
    else await writeCommandEnd(deps.kube, record, deps.clock.nowMs());
    this.#known.forget(record);
    const { name, phase = 'none' } = record;
    const message = `${name} is over; its last phase was ${phase}`;
    deps.log.info('command-over', message, { command: name, phase });
  }

  /** Writes how far a command is; answers whether that stands. */
  async #write(record: CommandRecord, phase: CommandPhase, why?: DisruptionNote): Promise<boolean> {
    const { deps, cluster } = this.#context;
    const stands = await writeCommandPhase(deps.kube, record, phase, why?.message);
    if (!stands) {
      if ((await readCommandRecord(deps, record.name)) === undefined) this.#known.forget(record);
      return false;
    }
    if (phase === 'Ending') countCommand(deps.metrics, cluster, record);
    if (phase === 'TakenBack') countTakenBack(deps.metrics, record);
    const { name, nodesOut } = record;
    const because = why === undefined ? '' : `: ${why.message}`;
    const message = `${name} of ${countText(nodesOut.length, 'node')} is ${phase}${because}`;
    deps.log.info('command-advanced', message, { command: name, phase });
    return true;
  }

  /**
   * Begins a command. With a resource: this first, then the taints, the phase Tainted, and its
   * plan. A crash in between leaves a resource by which a successor goes on or takes it back.
   */
  async begin({ command, candidates, reply }: Beginning): Promise<void> {
    const { deps } = this.#context;
    const [alone, ...others] = candidates;
    const sinceMs = deps.clock.nowMs();
    const isBuying = command.nodesIn.length > 0;
    if (alone !== undefined && others.length === 0 && !isBuying) {
      await this.#retirer.begin(alone.view, ...retirementOf(command, alone, { atMs: sinceMs }));
      return tellBegun(this.#context, { command, candidates, reply, sinceMs });
    }
    const by = { hash: deps.hash, nowMs: sinceMs, source };
    const plan = isBuying ? { plan: planOfCommand(command, reply, by) } : {};
    this.#beginning = command.name;
    try {
      await this.#begin({ command, candidates, reply, sinceMs, ...plan });
    } finally {
      this.#beginning = undefined;
      this.#wake.raise();
    }
  }

  async #begin(planned: Planned): Promise<void> {
    const { deps } = this.#context;
    const { command, candidates, plan, sinceMs } = planned;
    const record = await writeCommandRecord(deps, partsOf(planned));
    if (record === undefined) return;
    this.#known.note(record);
    this.#begun.hold(planned);
    const ofPlan = plan === undefined ? {} : { planId: plan.id };
    const named = { atMs: sinceMs, disruption: command.name, ...ofPlan };
    await inParallel(candidates, membersAtOnce, (candidate) =>
      this.#retirer.begin(candidate.view, ...retirementOf(command, candidate, named)),
    );
    return this.#advance(record);
  }
}
