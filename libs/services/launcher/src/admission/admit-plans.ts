import { type PlanMessage, type Work, workPlans, type WorkReader } from '@dovetail/contracts';
import {
  type Clock,
  LeadershipLost,
  type Log,
  type Metrics,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import { Wake } from '@dovetail/service-kit';

import type { Rounds } from './rounds.js';

export type AdmitPlansDeps = {
  readonly reader: WorkReader;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly rounds: Rounds;
  readonly plansPerRoundMax: number;
  readonly vitals: Vitals;
};

const retryMs = 1_000;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const roundMsMax = 300_000;

/**
 * Admits plans as they arrive; those that arrive during a round are judged together in the next. A
 * plan is acked once its claims exist and its verdicts are published; one that failed on the way
 * comes again.
 */
export async function admitPlans(deps: AdmitPlansDeps, stop: StopSignal): Promise<void> {
  const waiting: Work<PlanMessage>[] = [];
  const wake = new Wake(deps.clock);
  const receive = async (): Promise<void> => {
    for await (const work of workPlans(deps.reader, stop)) {
      waiting.push(work);
      wake.raise();
    }
  };
  const receiving = receive();
  while (!stop.aborted) {
    await wake.wait(stop);
    while (waiting.length > 0 && !stop.aborted)
      await deps.vitals.turn('rounds', roundMsMax, () =>
        admitSome(deps, waiting.splice(0, deps.plansPerRoundMax)),
      );
  }
  await receiving;
}

async function admitSome(deps: AdmitPlansDeps, works: readonly Work<PlanMessage>[]): Promise<void> {
  const { log, metrics, rounds } = deps;
  const read = works.flatMap((work) =>
    work.read.ok ? [{ item: work.item, plan: work.read.value }] : [],
  );
  for (const { item, read: wrong } of works) {
    if (wrong.ok) continue;
    log.error(
      'plan-malformed',
      'a plan could not be read and is dropped; its pods are planned again',
      { subject: item.message.subject, field: wrong.field, reason: wrong.reason },
    );
    metrics.count('dovetail_malformed_messages_total', {
      message: 'PlanMessage',
      field: wrong.field,
    });
    await settle(deps, () => item.ack());
  }
  if (read.length === 0) return;
  try {
    await rounds.admit(read.map(({ plan }) => plan));
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
