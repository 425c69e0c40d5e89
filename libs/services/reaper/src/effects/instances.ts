import type { InstanceState } from '@dovetail/core-disruption';
import type { Instance, StopSignal } from '@dovetail/core-ports';
import type { ReaperConfig } from '../config.js';
import type { ReaperDeps } from '../deps.js';

/** Gathers ids for a moment, so that many askers become one call. Everyone gets the call's answer, or its error. */
class Gathered<R> {
  readonly #deps: Pick<ReaperDeps, 'clock'>;
  readonly #gatherMs: number;
  readonly #call: (ids: readonly string[]) => Promise<R>;
  #ids = new Set<string>();
  #next: Promise<R> | undefined;

  constructor(deps: Pick<ReaperDeps, 'clock'>, gatherMs: number, call: (ids: readonly string[]) => Promise<R>) {
    this.#deps = deps;
    this.#gatherMs = gatherMs;
    this.#call = call;
  }

  ask(id: string, stop: StopSignal): Promise<R> {
    this.#ids.add(id);
    this.#next ??= this.#deps.clock.sleep(this.#gatherMs, stop).then(() => {
      const ids = [...this.#ids].sort();
      this.#ids = new Set();
      this.#next = undefined;
      return this.#call(ids);
    });
    return this.#next;
  }
}

const stateOf = (instance: Instance | undefined): InstanceState => {
  switch (instance?.state) {
    case undefined: return 'missing';
    case 'terminated': return 'terminated';
    case 'shutting-down': return 'ending';
    case 'pending': case 'running': case 'stopping': case 'stopped': return 'live';
  }
};

export type TerminationAnswer = { readonly kind: 'accepted' } | { readonly kind: 'later'; readonly afterMs: number } | { readonly kind: 'refused'; readonly awsCode: string; readonly message: string };

/** EC2 instances: their states, and the one way to end them, under one cap for everything that ends any. */
export class Instances {
  readonly #deps: ReaperDeps;
  readonly #config: ReaperConfig;
  readonly #states: Gathered<ReadonlyMap<string, Instance>>;
  readonly #endings: Gathered<ReadonlyMap<string, { readonly awsCode: string; readonly message: string }>>;
  /** When each instance of the last minute was ended. */
  readonly #endedMs = new Map<string, number>();

  constructor(deps: ReaperDeps, config: ReaperConfig) {
    this.#deps = deps;
    this.#config = config;
    const { cloud } = deps;
    this.#states = new Gathered(deps, config.termination.gatherMs, async (ids) => new Map((await cloud.instancesById(ids)).map((instance) => [instance.id, instance])));
    this.#endings = new Gathered(deps, config.termination.gatherMs, async (ids) => new Map((await cloud.terminate(ids)).map((refusal) => [refusal.id, refusal])));
  }

  async state(id: string, stop: StopSignal): Promise<InstanceState> { return stateOf((await this.#states.ask(id, stop)).get(id)); }

  /** Ends an instance, or says when there is room under the cap. Ending one twice in a minute counts once. */
  async terminate(id: string, stop: StopSignal): Promise<TerminationAnswer> {
    const nowMs = this.#deps.clock.nowMs();
    for (const [ended, atMs] of this.#endedMs) if (nowMs - atMs >= 60_000) this.#endedMs.delete(ended);
    if (!this.#endedMs.has(id) && this.#endedMs.size >= this.#config.termination.terminationsPerMinute) {
      const oldestMs = Math.min(...this.#endedMs.values());
      this.#deps.metrics.count('dovetail_terminations_capped_total');
      this.#deps.log.warn('terminations-capped', `${String(this.#endedMs.size)} instances were ended within a minute, the most that is allowed; ${id} waits`, { instance: id });
      return { kind: 'later', afterMs: Math.max(1, oldestMs + 60_000 - nowMs) };
    }
    this.#endedMs.set(id, nowMs);
    const refusal = (await this.#endings.ask(id, stop)).get(id);
    return refusal === undefined ? { kind: 'accepted' } : { kind: 'refused', awsCode: refusal.awsCode, message: refusal.message };
  }
}
