import {
  placeIn,
  type PlanMessage,
  type Work,
  workPlans,
  type WorkReader,
} from '@dovetail/contracts';
import {
  type Clock,
  LeadershipLost,
  type Log,
  type Metrics,
  Stopper,
  type StopSignal,
  type Traces,
  type Vitals,
} from '@dovetail/core-ports';
import { countMalformed, keepInHand, Wake } from '@dovetail/service-kit';

import type { TracedPlan } from '../cluster/traced-plan.js';
import type { BusTime } from '../tell/bus-time.js';
import type { UntoldPlans } from '../tell/untold-plans.js';
import type { Rounds } from './rounds.js';

/** The queue of plans, the rounds that judge them, and the most plans of a round. */
export type AdmitPlansDeps = {
  readonly reader: WorkReader;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly rounds: Rounds;
  readonly untoldPlans: Pick<UntoldPlans, 'add'>;
  readonly busTime: BusTime;
  readonly plansPerRoundMax: number;
  readonly vitals: Vitals;
  readonly traces?: Traces;
};

/**
 * How soon the plans of a failed round come again. It trades calls to an API server in trouble for
 * the age of the plans, which are refused after a minute.
 */
const retryMs = 1_000;
/**
 * A round that lasts longer is hung. A round waits for a bus that is away, so the limit is longer
 * than an outage of NATS that operators sit out.
 */
const roundMsMax = 3_600_000;

/**
 * Admits plans as they arrive; those that arrive during a round are judged together in the next. A
 * plan is acked once its claims exist and its verdicts are published; one that failed on the way
 * comes again.
 */
export async function admitPlans(deps: AdmitPlansDeps, stop: StopSignal): Promise<void> {
  const scope = new Stopper(stop);
  const plans: Plans = { waiting: [], inHand: new Set(), wake: new Wake(deps.clock) };
  // A loop that ends or fails ends the others.
  const loops = [
    receive(deps, plans, scope),
    admit(deps, plans, scope),
    keepInHand(deps, plans.inHand, scope),
  ].map((loop) => loop.finally(() => scope.abort()));
  const ended = await Promise.allSettled(loops);
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

type Plans = {
  /** Received, and not in a round yet. */
  readonly waiting: Work<PlanMessage>[];
  /** Received, and not settled yet. */
  readonly inHand: Set<Work<PlanMessage>['item']>;
  readonly wake: Wake;
};

async function receive(deps: AdmitPlansDeps, plans: Plans, stop: StopSignal): Promise<void> {
  for await (const work of workPlans(deps.reader, stop)) {
    deps.busTime.heard(work.item.message.timeMs);
    plans.waiting.push(work);
    plans.inHand.add(work.item);
    plans.wake.raise();
  }
}

async function admit(deps: AdmitPlansDeps, plans: Plans, stop: StopSignal): Promise<void> {
  const { waiting, inHand, wake } = plans;
  while (!stop.aborted) {
    await wake.wait(stop);
    while (waiting.length > 0 && !stop.aborted) {
      const works = waiting.splice(0, deps.plansPerRoundMax);
      await deps.vitals.turn('rounds', roundMsMax, () => admitSome(deps, works));
      for (const { item } of works) inHand.delete(item);
    }
  }
}

async function admitSome(deps: AdmitPlansDeps, works: readonly Work<PlanMessage>[]): Promise<void> {
  const { log, metrics, rounds, untoldPlans } = deps;
  const read = works.flatMap((work) =>
    work.read.ok ? [{ item: work.item, plan: traced(deps, work.item, work.read.value) }] : [],
  );
  for (const { item, read: wrong } of works) {
    if (wrong.ok) continue;
    log.error(
      'plan-malformed',
      'a plan could not be read and is dropped; its pods are planned again',
      { subject: item.message.subject, field: wrong.field, reason: wrong.reason },
    );
    countMalformed(metrics, { message: 'PlanMessage', field: wrong.field });
    await settle(deps, () => item.ack());
  }
  if (read.length === 0) return;
  try {
    await rounds.admit(read.map((each) => byOwnClock(deps, each)));
    for (const { plan } of read) untoldPlans.add(plan);
    for (const { item } of read) await settle(deps, () => item.ack());
  } catch (error) {
    if (error instanceof LeadershipLost) throw error;
    log.warn('round-failed', 'a round could not be finished; its plans come again', {
      error: String(error),
      plans: read.map(({ plan }) => plan.id),
    });
    for (const { item } of read) await settle(deps, () => item.nak(retryMs));
  }
}

/** The plan with its place in a trace, if the launcher traces. */
function traced(
  { traces }: Pick<AdmitPlansDeps, 'traces'>,
  { message }: Work<PlanMessage>['item'],
  plan: PlanMessage,
): TracedPlan {
  const place = traces === undefined ? undefined : placeIn(message.headers);
  return place === undefined ? plan : { ...plan, place };
}

/**
 * Dates the plan by when the bus stored it, in the time of this host: the clock of its solver may
 * be another.
 */
const byOwnClock = (
  { busTime }: Pick<AdmitPlansDeps, 'busTime'>,
  { item, plan }: { readonly item: Work<PlanMessage>['item']; readonly plan: TracedPlan },
): TracedPlan => ({ ...plan, createdMs: busTime.here(item.message.timeMs) });

/** An ack is tried once: a plan that comes again is recognised. */
async function settle(deps: AdmitPlansDeps, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    deps.log.debug('ack-failed', 'an acknowledgement did not get through', {
      error: String(error),
    });
  }
}
