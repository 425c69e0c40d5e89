import type { InstanceState } from '@dovetail/core-disruption';
import type {
  Clock,
  Instance,
  Instances as InstanceReads,
  Log,
  Metrics,
  StopSignal,
  Terminations,
} from '@dovetail/core-ports';

import type { TerminationConfig } from '../config.js';
import { Gathered } from './gathered.js';

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
    this.#endedMs.set(id, nowMs);
    const refusal = (await this.#endings.ask(id, stop)).get(id);
    if (refusal === undefined) return { kind: 'accepted' };
    return { kind: 'refused', awsCode: refusal.awsCode, message: refusal.message };
  }

  #forgetEnded(nowMs: number): void {
    for (const [id, atMs] of this.#endedMs) if (nowMs - atMs >= minuteMs) this.#endedMs.delete(id);
  }

  #putOff(id: string, nowMs: number): TerminationAnswer {
    const { metrics, log } = this.#deps;
    metrics.count('dovetail_terminations_capped_total');
    log.warn(
      'terminations-capped',
      `${String(this.#endedMs.size)} instances were ended within a minute, the most that is allowed; ${id} waits`,
      { instance: id },
    );
    const oldestMs = Math.min(...this.#endedMs.values());
    return { kind: 'later', afterMs: Math.max(1, oldestMs + minuteMs - nowMs) };
  }
}
