import type { InstanceState } from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import type {
  Clock,
  Instance,
  Instances as InstanceReads,
  Log,
  Metrics,
  StopSignal,
  Terminations,
} from '@dovetail/core-ports';
import { Gathered } from '@dovetail/service-kit';

import type { TerminationConfig } from '../config.js';

const stateOf = (instance: Instance | undefined): InstanceState => {
  switch (instance?.state) {
    case undefined:
      return 'missing';
    case 'terminated':
      return 'terminated';
    case 'shutting-down':
      return 'ending';
    case 'pending':
    case 'running':
    case 'stopping':
    case 'stopped':
      return 'live';
  }
};

/** `later`: the cap is reached, and has room after this time. */
export type TerminationAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'later'; readonly afterMs: number }
  | { readonly kind: 'refused'; readonly awsCode: string; readonly message: string };

type Refusal = { readonly awsCode: string; readonly message: string };

type InstancesDeps = {
  readonly cloud: Pick<InstanceReads, 'instancesById'> & Terminations;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

const minuteMs = 60_000;

/**
 * EC2 instances: their states, and the one way to end them.
 * Invariant: at most `terminationsPerMinute` instances are ended within any minute.
 */
export class Instances {
  readonly #deps: InstancesDeps;
  readonly #perMinuteMax: number;
  readonly #states: Gathered<ReadonlyMap<string, Instance>>;
  readonly #shown: Gathered<ReadonlyMap<string, Instance>>;
  readonly #endings: Gathered<ReadonlyMap<string, Refusal>>;
  /** When each instance of the last minute was ended. */
  readonly #endedMs = new Map<string, number>();
  /** When each instance that waits for the cap has its turn. */
  readonly #turnsMs = new Map<string, number>();
  #cappedToldMs = -Infinity;

  constructor(
    deps: InstancesDeps,
    config: Pick<TerminationConfig, 'terminationsPerMinute' | 'gatherMs' | 'stateGatherMs'>,
  ) {
    this.#deps = deps;
    this.#perMinuteMax = config.terminationsPerMinute;
    const { cloud, clock } = deps;
    const find = async (ids: readonly string[]): Promise<ReadonlyMap<string, Instance>> => {
      const found = await cloud.instancesById(ids);
      return new Map(found.map((instance) => [instance.id, instance]));
    };
    this.#states = new Gathered(clock, config.stateGatherMs, find);
    this.#shown = new Gathered(clock, config.gatherMs, find);
    this.#endings = new Gathered(clock, config.gatherMs, async (ids) => {
      const refusals = await cloud.terminate(ids);
      return new Map(refusals.map((refusal) => [refusal.id, refusal]));
    });
  }

  /** The state of an instance as EC2 shows it, asked without haste. Rejects with CloudError. */
  async state(id: string, stop: StopSignal): Promise<InstanceState> {
    return stateOf((await this.#states.ask(id, stop)).get(id));
  }

  /** The instance as EC2 shows it; undefined when it does not. Rejects with CloudError. */
  async shown(id: string, stop: StopSignal): Promise<Instance | undefined> {
    return (await this.#shown.ask(id, stop)).get(id);
  }

  /** Ends an instance. Ending one twice in a minute counts once. Rejects with CloudError. */
  async terminate(id: string, stop: StopSignal): Promise<TerminationAnswer> {
    const nowMs = this.#deps.clock.nowMs();
    this.#forgetEnded(nowMs);
    if (!this.#endedMs.has(id) && this.#endedMs.size >= this.#perMinuteMax)
      return this.#putOff(id, nowMs);
    this.#turnsMs.delete(id);
    this.#endedMs.set(id, nowMs);
    const refusal = (await this.#endings.ask(id, stop)).get(id);
    if (refusal === undefined) return { kind: 'accepted' };
    return { kind: 'refused', awsCode: refusal.awsCode, message: refusal.message };
  }

  #forgetEnded(nowMs: number): void {
    for (const [id, atMs] of this.#endedMs) if (nowMs - atMs >= minuteMs) this.#endedMs.delete(id);
  }

  /** Gives each instance that waits a turn of its own, as earlier ends leave the minute. */
  #putOff(id: string, nowMs: number): TerminationAnswer {
    for (const [other, turnMs] of this.#turnsMs) if (turnMs <= nowMs) this.#turnsMs.delete(other);
    const known = this.#turnsMs.get(id);
    const turnMs = known ?? this.#nextTurnMs();
    this.#turnsMs.set(id, turnMs);
    if (known === undefined) this.#tellCapped(id, nowMs);
    return { kind: 'later', afterMs: Math.max(1, turnMs - nowMs) };
  }

  #nextTurnMs(): number {
    const ends = [...this.#endedMs.values()].sort((a, b) => a - b);
    const waiting = this.#turnsMs.size;
    const minutes = 1 + Math.floor(waiting / ends.length);
    return at(ends, waiting % ends.length) + minutes * minuteMs;
  }

  #tellCapped(id: string, nowMs: number): void {
    const { metrics, log } = this.#deps;
    metrics.count('dovetail_terminations_capped_total');
    if (nowMs - this.#cappedToldMs < minuteMs) return;
    this.#cappedToldMs = nowMs;
    log.warn(
      'terminations-capped',
      `${String(this.#endedMs.size)} instances were ended within a minute, the most that is allowed; ${id} waits, and others may`,
      { instance: id },
    );
  }
}
