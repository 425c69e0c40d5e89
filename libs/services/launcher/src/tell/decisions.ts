import { publishDecision, type Channel, type Decision } from '@dovetail/contracts';
import type { Log } from '@dovetail/core-ports';

/** What a teller of decisions fills in by itself. */
export type ToldDecision = Omit<Decision, 'atMs' | 'source' | 'objects' | 'reasons' | 'alternatives' | 'facts'> & Partial<Pick<Decision, 'objects' | 'reasons' | 'alternatives' | 'facts'>>;

/** Tells decisions without waiting: nothing depends on them, and a bus that is away holds nothing up. */
export class Decisions {
  readonly #channel: Channel;
  readonly #log: Log;

  constructor(channel: Channel, log: Log) { this.#channel = channel; this.#log = log; }

  tell(decision: ToldDecision): void {
    const whole: Decision = { objects: [], reasons: [], alternatives: [], facts: {}, ...decision, atMs: this.#channel.clock.nowMs(), source: 'launcher' };
    this.#log.info(`decision-${whole.kind}`, whole.summary, loggedFields(whole));
    publishDecision(this.#channel, whole).catch((error: unknown) => this.#log.warn('decision-not-told', 'a decision could not be published', { id: whole.id, error: String(error) }));
  }
}

/** What the log line of a decision says beside its summary: its facts, and what it is about. */
function loggedFields({ id, facts, claimName, planId, instanceId, instanceType, zone, capacityType }: Decision): Readonly<Record<string, string>> {
  const named = { claim: claimName, plan: planId, instanceId, instanceType, zone, capacityType };
  return { id, ...facts, ...Object.fromEntries(Object.entries(named).flatMap(([field, value]) => (value === undefined ? [] : [[field, value] as const]))) };
}
