import { type PlanMessage, type PlanReply, publishPlan } from '@dovetail/contracts';
import type { Candidate, Command, DisruptionNote } from '@dovetail/core-disruption';
import { countText } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { channelOf } from '../deps.js';
import { tellLaunching } from '../outside/disruption-events.js';
import { commandSince } from '../traced-retirement.js';
import { decisionOfCommand } from './command-decision.js';
import { lateNote, type LiveMember } from './members.js';

/** A command to begin, its nodes, and the answer of the solver that it was judged on. */
export type Beginning = {
  readonly command: Command;
  readonly candidates: readonly Candidate[];
  readonly reply: PlanReply;
};

/** A command, its nodes, and the plan that buys nodes for their pods, if there is one. */
export type Planned = Beginning & {
  readonly plan?: PlanMessage;
  /** When it was begun, in milliseconds since 1970. */
  readonly sinceMs: number;
};

/** Tells of a command once its nodes are marked. */
export function tellBegun(
  context: ReaperContext,
  { command, candidates, reply, plan, sinceMs }: Planned,
): void {
  const { deps, decisions } = context;
  const ofPlan = plan === undefined ? {} : { planId: plan.id };
  const begun = { command, candidates, whatIfId: reply.planId, atMs: deps.clock.nowMs() };
  const work = commandSince(context, command.name, sinceMs);
  decisions.tell(decisionOfCommand({ ...begun, ...ofPlan }), work);
}

/**
 * The commands that this process has begun and not published yet, by name. A call of the beginning
 * may fail: the next look at the command goes on with its plan, which is in no resource. The plan
 * of a predecessor is lost with it, and its command is taken back.
 */
export class BegunCommands {
  readonly #context: ReaperContext;
  readonly #planned = new Map<string, Planned>();

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  hold(planned: Planned): void {
    this.#planned.set(planned.command.name, planned);
  }

  drop(name: string): void {
    this.#planned.delete(name);
  }

  /** Why the command cannot go on, though all of its nodes are marked. */
  lateNote(name: string, members: readonly LiveMember[]): DisruptionNote | undefined {
    const planned = this.#planned.get(name);
    return planned === undefined ? undefined : lateNote(planned.command, members);
  }

  /**
   * Publishes the plan of a command whose nodes are marked, and tells of it, once. A plan that is
   * published again after its answer was lost is the same to the launcher.
   */
  async publish(name: string): Promise<void> {
    const planned = this.#planned.get(name);
    if (planned === undefined) return;
    const { deps, config } = this.#context;
    const { candidates, command, plan } = planned;
    if (plan !== undefined) await publishPlan(channelOf(deps, config), plan);
    this.drop(name);
    tellBegun(this.#context, planned);
    if (plan === undefined) return;
    for (const { view } of candidates) tellLaunching(this.#context.events, view.node);
    const message = `${candidates.map(({ view }) => view.node.name).join(', ')} ${candidates.length === 1 ? 'is' : 'are'} to be replaced by ${countText(command.nodesIn.length, 'cheaper node')}`;
    const about = { command: name, plan: plan.id, nodes: candidates.length };
    deps.log.info('command-published', message, about);
  }
}
