import {
  type Channel,
  type Decision,
  publishDecision,
  recordSpan,
  spanOfDecision,
  tracedPlace,
  type TracedWork,
} from '@dovetail/contracts';
import { plainText } from '@dovetail/core-kube-model';
import type { Log, LogFields } from '@dovetail/core-ports';
import { plainReason, plainValues } from '@dovetail/core-scheduling';

import type { Outbox } from './outbox.js';

/**
 * A decision without what the teller adds: its source, empty lists for absent ones, and the present
 * time for one that does not say when it was made.
 */
export type NewDecision = Omit<
  Decision,
  'atMs' | 'source' | 'objects' | 'reasons' | 'alternatives' | 'facts' | 'traceId'
> &
  Partial<Pick<Decision, 'atMs' | 'objects' | 'reasons' | 'alternatives' | 'facts'>>;

/** The channel and the outbox of decisions, and the log that repeats them. */
export type DecisionsDeps = {
  readonly channel: Channel;
  readonly outbox: Outbox;
  readonly log: Log;
};

/** Ids that are remembered: several times what one leader decides while its outbox is full. */
const toldMax = 10_000;

/**
 * Logs each decision as `decision-<kind>` and publishes it through the outbox, which keeps it while
 * the bus is away. Nothing waits for a decision to arrive.
 *
 * If the work that a decision ends belongs to a trace, it is recorded as a span, and the decision
 * names the trace.
 *
 * Invariant: each decision is published once per process. After a restart the same id may come
 * again, and the bus or the reader recognises it. Its span then has the same id, too.
 */
export class Decisions {
  readonly #deps: DecisionsDeps;
  /** Ids in the order of their publication. */
  readonly #told = new Set<string>();

  constructor(deps: DecisionsDeps) {
    this.#deps = deps;
  }

  tell(decision: NewDecision, work?: TracedWork): void {
    if (this.#told.has(decision.id)) return;
    this.#remember(decision.id);
    const { channel, outbox, log } = this.#deps;
    const place = tracedPlace(channel, decision.id, work);
    const whole: Decision = {
      objects: [],
      reasons: [],
      alternatives: [],
      facts: {},
      atMs: channel.clock.nowMs(),
      ...plainDecision(decision),
      source: channel.source,
      ...(place === undefined ? {} : { traceId: place.traceId }),
    };
    log.info(`decision-${whole.kind}`, whole.summary, loggedFields(whole));
    if (place !== undefined && work !== undefined)
      recordSpan(channel, spanOfDecision(whole, work, place));
    outbox.add({ key: `decision/${whole.id}`, send: () => publishDecision(channel, whole, place) });
  }

  #remember(id: string): void {
    this.#told.add(id);
    if (this.#told.size <= toldMax) return;
    for (const oldest of this.#told) {
      this.#told.delete(oldest);
      return;
    }
  }
}

/** The decision with all its text for people, as `plainText`. */
const plainDecision = (decision: NewDecision): NewDecision => ({
  ...decision,
  summary: plainText(decision.summary),
  ...(decision.reasons === undefined ? {} : { reasons: decision.reasons.map(plainReason) }),
  ...(decision.facts === undefined ? {} : { facts: plainValues(decision.facts) }),
});

/** The log line of a decision: its facts, the codes of its reasons, its objects, and its price. */
function loggedFields(decision: Decision): LogFields {
  const { id, facts, reasons, claimName, planId, instanceId, traceId } = decision;
  const { instanceType, zone, capacityType, priceMicrosPerHour } = decision;
  const about = { claim: claimName, plan: planId, instance: instanceId, trace: traceId };
  const named = { ...about, instanceType, zone, capacityType, priceMicrosPerHour };
  return {
    ...facts,
    decision: id,
    reasons: reasons.map(({ code }) => code),
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
  };
}
