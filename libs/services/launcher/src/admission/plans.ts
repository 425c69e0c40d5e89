import { workPlans, type Reader, type Work, type PlanMessage } from '@dovetail/contracts';
import { LeadershipLost, type Clock, type Log, type Metrics, type StopSignal } from '@dovetail/core-ports';
import { Latch } from '../loop/latch.js';
import type { Rounds } from './rounds.js';

export type PlansDeps = { readonly reader: Reader; readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly rounds: Rounds; readonly plansPerRoundMax: number };

const retryMs = 1_000;

/**
 * Takes plans as they arrive and admits them, those that came during a round together in the next. A plan is acked when its claims exist
 * and its verdicts are told; one that failed on the way comes again.
 */
export async function admitPlans(deps: PlansDeps, stop: StopSignal): Promise<void> {
  const waiting: Work<PlanMessage>[] = [];
  const latch = new Latch();
  const receive = async (): Promise<void> => {
    for await (const work of workPlans(deps.reader, stop)) {
      waiting.push(work);
      latch.raise();
    }
  };
  const receiving = receive();
  while (!stop.aborted) {
    await latch.wait(stop);
    while (waiting.length > 0 && !stop.aborted) await admitSome(deps, waiting.splice(0, deps.plansPerRoundMax));
  }
  await receiving;
}

async function admitSome(deps: PlansDeps, works: readonly Work<PlanMessage>[]): Promise<void> {
  const { log, metrics, rounds } = deps;
  const read = works.flatMap((work) => (work.read.ok ? [{ item: work.item, plan: work.read.value }] : []));
  for (const { item, read: wrong } of works) {
    if (wrong.ok) continue;
    log.error('plan-malformed', 'a plan could not be read and is dropped; the pods in it are planned again', { subject: item.message.subject, field: wrong.field, reason: wrong.reason });
    metrics.count('dovetail_malformed_messages_total', { message: 'PlanMessage', field: wrong.field });
    await settle(deps, () => item.ack());
  }
  if (read.length === 0) return;
  try {
    await rounds.admit(read.map(({ plan }) => plan));
    for (const { item } of read) await settle(deps, () => item.ack());
  } catch (error) {
    if (error instanceof LeadershipLost) throw error;
    log.warn('round-failed', 'a round could not be finished, its plans come again', { error: String(error), plans: read.map(({ plan }) => plan.id) });
    for (const { item } of read) await settle(deps, () => item.nak(retryMs));
  }
}

/** Acks are worth one try: a plan that comes again is recognised. */
async function settle(deps: PlansDeps, act: () => Promise<void>): Promise<void> {
  try { await act(); } catch (error) { deps.log.debug('ack-failed', 'an acknowledgement did not get through', { error: String(error) }); }
}
