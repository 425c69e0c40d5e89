import { type PlanMessage, workOfPlan } from '@dovetail/contracts';
import { messageOf, Stopper, type StopSignal, type TracePlace } from '@dovetail/core-ports';
import { decisionOfPlan } from '@dovetail/service-kit';

import type { SolverConfig, TellingDeps } from './config.js';
import { observePlan, type PlanFor } from './observations.js';

/**
 * How much longer than its time a proof may take until the decision is told without it. The
 * planning thread may be making the next plan when the proof ends.
 */
const answerMs = 500;

/**
 * Tells the decision of a published plan once its bound is proven. After the time for proofs, or
 * at `stop`, it tells the plan's own bound. If this process dies before, the launcher tells the
 * decision.
 */
export async function tellPlan(
  deps: TellingDeps,
  message: PlanMessage,
  {
    boundMs,
    stop,
    planFor,
    batch,
  }: Pick<SolverConfig, 'boundMs'> & {
    readonly stop: StopSignal;
    readonly planFor: PlanFor;
    /** The place of the plan's batch in a trace. */
    readonly batch?: TracePlace | undefined;
  },
): Promise<void> {
  // It takes no time from the proof, which runs in a thread of its own.
  void deps.recorder.record(message.id);
  const bound = boundMs > 0 ? await boundInTime(deps, message.id, { boundMs, stop }) : undefined;
  const told: PlanMessage =
    bound === undefined ? message : { ...message, plan: { ...message.plan, bound } };
  observePlan(deps, told, planFor);
  deps.decisions.tell(decisionOfPlan(told), workOfPlan(deps.channel, message, batch));
}

type Bound = PlanMessage['plan']['bound'];

async function boundInTime(
  { engine, channel, log }: TellingDeps,
  planId: string,
  what: { readonly boundMs: number; readonly stop: StopSignal },
): Promise<Bound | undefined> {
  const over = new Stopper(what.stop);
  try {
    return await Promise.race([
      engine.proveBound(planId, what.boundMs),
      channel.clock.sleep(what.boundMs + answerMs, over).then(() => undefined),
    ]);
  } catch (error) {
    log.warn('bound-unproven', `the bound of a plan was not proven: ${messageOf(error)}`, {
      plan: planId,
    });
    return undefined;
  } finally {
    over.abort();
  }
}
