import { type PlanMessage, type PlanReply, publishPlan } from '@dovetail/contracts';
import { annotations, type CommandPhase, type CommandRecord } from '@dovetail/core-api';
import {
  type Candidate,
  type Command,
  commandOfRetirement,
  type CommandStep,
  commandStep,
  type DisruptionNote,
  note,
  parseRetirement,
  podsWithoutRoom,
  type Retirement,
} from '@dovetail/core-disruption';
import { type StopSignal } from '@dovetail/core-ports';
import { countText, inParallel, type LoopTurn, tryTurn, Wake } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { channelOf, source } from '../deps.js';
import {
  deleteCommandRecord,
  readCommandRecord,
  servesCommandRecords,
  writeCommandEnd,
  writeCommandPhase,
  writeCommandRecord,
} from '../outside/command-records.js';
import { planOfCommand } from './command-plan.js';
import { partsOf } from './command-told.js';
import { countCommand, countTakenBack } from './disruption-counts.js';
import { KnownCommands } from './known-commands.js';
import {
  carriedAmong,
  type CarriedNode,
  lateNote,
  type LiveMember,
  liveMembers,
  membersAtOnce,
  watchedMembers,
} from './members.js';
import type { Retirer } from './retirer.js';
import { underUsed } from './under-used.js';

/** A look at all commands that lasts longer is hung: far over the waits for answers of solvers. */
const commandsTurn: LoopTurn = {
  loop: 'commands',
  msMax: 900_000,
  failure: 'commands-failed',
  what: 'looking at commands failed',
};
/** Pause between two looks at the commands that are under way. It trades calls for their speed. */
const lookMs = 1_000;
/** How long a command that is over can be read. */
const keptMs = 3_600_000;

/** A command to begin, its nodes, and the answer of the solver that it was judged on. */
type Beginning = {
  readonly command: Command;
  readonly candidates: readonly Candidate[];
  readonly reply: PlanReply;
};

/** A command, its nodes, and the plan that buys nodes for their pods, if there is one. */
type Planned = Omit<Beginning, 'reply'> & { readonly plan?: PlanMessage };

/**
 * Carries out commands. One that buys, or that takes several nodes, has a resource: all that must
 * survive a crash is in it, written before the first taint, and in the annotations that carry its
 * name. Each look reads them afresh, so that a successor goes on where the last reaper was: it
 * finishes a command, or takes it back whole. The removal of one node needs no more than the
 * annotation of that node.
 */
export class Commands {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  /** The command that is being begun here: until then, it is not looked at. */
  #beginning: string | undefined;
  readonly #known: KnownCommands;
  #isAbsenceTold = false;
  readonly #wake: Wake;

  constructor(context: ReaperContext, retirer: Retirer) {
    this.#context = context;
    this.#retirer = retirer;
    this.#known = new KnownCommands(context.deps);
    this.#wake = new Wake(context.deps.clock);
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
    await Promise.all([this.#known.watch(() => this.#wake.raise(), stop), this.#looks(stop)]);
  }

  async #looks(stop: StopSignal): Promise<void> {
    const { deps, cluster, config } = this.#context;
    while (!stop.aborted) {
      const isReady = cluster.synced() && this.isKnown();
      const isToLook = isReady && this.#isToLook();
      const isWell = !isToLook || (await this.#turn());
      const { passIntervalMs } = config.disruption;
      if (isToLook || !isReady) await deps.clock.sleep(isWell ? lookMs : passIntervalMs, stop);
      else await this.#wake.wait(stop, passIntervalMs);
    }
  }

  /** Whether a command is being carried out, or one that is over is to be deleted. */
  #isToLook(): boolean {
    const nowMs = this.#context.deps.clock.nowMs();
    const isDue = ({ endedMs = -Infinity }: CommandRecord): boolean => nowMs >= endedMs + keptMs;
    return this.#known.all().some(isDue) || this.#carriers().length > 0;
  }

  /** Looks at the commands; answers whether that went well. */
  async #turn(): Promise<boolean> {
    const { deps } = this.#context;
    const turned = await tryTurn(deps, commandsTurn, () => this.#look());
    return turned.kind === 'done';
  }

  /** The nodes that carry the name of a command and do not end yet, as the watch shows them. */
  #carriers() {
    const { cluster } = this.#context;
    return [...cluster.nodes.values()].flatMap((node) => {
      const retirement = parseRetirement(node.annotations[annotations.retirement]);
      const command = commandOfRetirement(retirement);
      const claim = cluster.claimOfNode(node);
      const isOver = claim === undefined || claim.deletionMs !== undefined;
      return command === undefined || retirement === undefined || isOver
        ? []
        : [{ node, claim, retirement, command }];
    });
  }

  async #look(): Promise<void> {
    const { deps } = this.#context;
    for (const record of this.#known.all()) {
      if (record.name === this.#beginning) continue;
      if (record.endedMs === undefined) await this.#advance(record);
      else await this.#deleteOld(record, record.endedMs);
    }
    for (const { node, claim, retirement, command } of this.#carriers()) {
      if (command === this.#beginning || this.#isUnderWay(command)) continue;
      // The watch may be behind.
      const record = await readCommandRecord(deps, command);
      if (record !== undefined && record.endedMs === undefined) continue;
      const message = `its command ${command} is not there any more`;
      const notes = [note('command-incomplete', message, { command })];
      const view = { ...this.#context.cluster.viewOf(claim), node };
      await this.#retirer.abandon(view, retirement, notes);
    }
  }

  #isUnderWay(command: string): boolean {
    return this.#known.all().some(({ name, endedMs }) => name === command && endedMs === undefined);
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
    return this.#do(commandStep(record.phase, members), record, members);
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
        const told = why === undefined ? {} : { message: why.message };
        return this.#do(commandStep(phase, members), { ...record, phase, ...told }, members);
      }
      case 'wait':
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
        for (const claimUid of free) this.#retirer.pause(claimUid, why);
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
    const isBuying = command.nodesIn.length > 0;
    if (alone !== undefined && others.length === 0 && !isBuying)
      return this.#retirer.begin(alone.view, ...this.#retirementOf(command, alone));
    const by = { hash: deps.hash, nowMs: deps.clock.nowMs(), source };
    const plan = isBuying ? { plan: planOfCommand(command, reply, by) } : {};
    this.#beginning = command.name;
    try {
      await this.#begin({ command, candidates, ...plan });
    } finally {
      this.#beginning = undefined;
      this.#wake.raise();
    }
  }

  /** The retirement of a node that a command gives up, and why. */
  #retirementOf(
    command: Command,
    { view }: Candidate,
    more: Pick<Retirement, 'disruption' | 'planId'> = {},
  ): readonly [Retirement, DisruptionNote] {
    const atMs = this.#context.deps.clock.nowMs();
    const retirement = { cause: command.cause, atMs, detail: command.name, ...more };
    return [retirement, underUsed(command, view.node.name)];
  }

  async #begin({ command, candidates, plan }: Planned): Promise<void> {
    const { deps, config } = this.#context;
    const record = await writeCommandRecord(deps, partsOf(command, plan));
    if (record === undefined) return;
    this.#known.note(record);
    const named = { disruption: command.name, ...(plan === undefined ? {} : { planId: plan.id }) };
    await inParallel(candidates, membersAtOnce, (candidate) =>
      this.#retirer.begin(candidate.view, ...this.#retirementOf(command, candidate, named)),
    );
    const members = await liveMembers(this.#context, record);
    const late = lateNote(command, members);
    const step = commandStep(undefined, members);
    if (late !== undefined) return void (await this.#write(record, 'TakenBack', late));
    // Another outcome is left to the next look.
    if (step.kind !== 'advance' || step.phase !== 'Tainted') return;
    if (!(await this.#write(record, 'Tainted')) || plan === undefined) return;
    await publishPlan(channelOf(deps, config), plan);
    const message = `${candidates.map(({ view }) => view.node.name).join(', ')} ${candidates.length === 1 ? 'is' : 'are'} to be replaced by ${countText(command.nodesIn.length, 'cheaper node')}`;
    const about = { command: command.name, plan: plan.id, nodes: candidates.length };
    deps.log.info('command-published', message, about);
  }
}
