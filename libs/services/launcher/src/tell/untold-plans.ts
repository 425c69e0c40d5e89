import {
  type Channel,
  followDecisions,
  limits,
  type TracedWork,
  workOfPlan,
} from '@dovetail/contracts';
import type { Log, StopSignal } from '@dovetail/core-ports';
import { decisionOfPlan, type Decisions, type NewDecision, Wake } from '@dovetail/service-kit';

import type { TracedPlan } from '../cluster/traced-plan.js';

/** The bus on which decisions are heard, and the outlets of those that nobody told. */
export type UntoldPlansDeps = {
  readonly channel: Channel;
  readonly decisions: Decisions;
  readonly log: Log;
};

/**
 * Ids of heard decisions that are remembered: more than solvers tell before the launcher takes
 * their plans, in less than a megabyte.
 */
const heardMax = 10_000;

type Waiting = {
  readonly decision: NewDecision;
  readonly work: TracedWork;
  readonly dueMs: number;
};

/**
 * Tells the decisions of plans whose solver died first. A solver tells the decision of a plan after
 * it has proven a bound, so the plan may outlive it. The launcher hears the decisions of solvers
 * and, after `limits.planToldMs`, tells those that it did not hear, with the bound that their plan
 * carries.
 */
export class UntoldPlans {
  readonly #deps: UntoldPlansDeps;
  readonly #wake: Wake;
  /** Decisions that were not heard yet, by id, in the order in which they are due. */
  readonly #waiting = new Map<string, Waiting>();
  /** Ids in the order in which they were heard. */
  readonly #heard = new Set<string>();

  constructor(deps: UntoldPlansDeps) {
    this.#deps = deps;
    this.#wake = new Wake(deps.channel.clock);
  }

  /**
   * Remembers a plan until its decision is heard. One that comes again changes nothing. The reaper
   * tells a command and not its plan, so the decision of that plan is told at once.
   */
  add(plan: TracedPlan): void {
    const decision = decisionOfPlan(plan);
    if (this.#heard.has(decision.id) || this.#waiting.has(decision.id)) return;
    const work = this.#workOf(plan);
    if (plan.cause.kind === 'replacement' && plan.cause.command !== undefined) {
      this.#remember(decision.id);
      return void this.#deps.decisions.tell(decision, work);
    }
    const dueMs = this.#deps.channel.clock.nowMs() + limits.planToldMs;
    this.#waiting.set(decision.id, { decision, work, dueMs });
    this.#wake.raise();
  }

  /** The solver's work. The span of a plan's batch is not known here, only the trace. */
  #workOf(plan: TracedPlan): TracedWork {
    const work = workOfPlan(this.#deps.channel, plan);
    const { place, cause } = plan;
    return place === undefined || cause.kind !== 'pending'
      ? work
      : { ...work, traceId: place.traceId };
  }

  /** Hears decisions, and tells those that are due, until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    await Promise.all([this.#hear(stop), this.#tell(stop)]);
  }

  async #hear(stop: StopSignal): Promise<void> {
    const what = { kinds: ['plan'], from: 'now' } as const;
    for await (const event of followDecisions(this.#deps.channel, stop, what)) {
      if (event.kind !== 'decision') continue;
      const { id } = event.decision;
      this.#waiting.delete(id);
      this.#remember(id);
    }
  }

  #remember(id: string): void {
    this.#heard.add(id);
    for (const oldest of this.#heard) {
      if (this.#heard.size <= heardMax) break;
      this.#heard.delete(oldest);
    }
  }

  async #tell(stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    while (!stop.aborted) {
      const [first] = this.#waiting.values();
      if (first === undefined) await this.#wake.wait(stop);
      else if (first.dueMs > clock.nowMs()) await clock.sleep(first.dueMs - clock.nowMs(), stop);
      else this.#tellNow(first);
    }
  }

  #tellNow({ decision, work }: Waiting): void {
    const { decisions, log } = this.#deps;
    this.#waiting.delete(decision.id);
    this.#remember(decision.id);
    log.warn(
      'plan-untold',
      'the solver of a plan did not tell its decision; the launcher tells it',
      { plan: decision.planId },
    );
    decisions.tell(decision, work);
  }
}
