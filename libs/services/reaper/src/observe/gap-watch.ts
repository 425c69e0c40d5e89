import type { GapReply } from '@dovetail/contracts';
import type { MetricSamples, StopSignal } from '@dovetail/core-ports';
import { type LoopTurn, tryTurn } from '@dovetail/service-kit';

import { isSameNews, noNews } from '../cluster/news.js';
import type { ReaperContext } from '../context.js';
import { askGap } from '../outside/gaps.js';
import { decisionOfGap } from './gap-decision.js';

/** A turn that lasts longer is hung: far over the longest wait for a solver. */
const gapTurn: LoopTurn = {
  loop: 'gap',
  msMax: 300_000,
  failure: 'gap-failed',
  what: 'comparing the price of the nodes with a plan from nothing failed',
};

/**
 * The wait of a new leader before it asks for the first time, and before it asks again if no solver
 * has answered. It trades the first numbers after a failover for questions in vain.
 */
const firstMs = 30_000;

/** The pause between two looks at whether it is time to ask. */
const lookMs = 10_000;

/**
 * Compares the price of the nodes with that of a plan from nothing, every so often and only if
 * something that counts has changed since. The answer is told as a decision, and shown as gauges by
 * the leader alone. A successor asks anew.
 */
export class GapWatch {
  readonly #context: ReaperContext;
  /** The news that the last answer is about. */
  #answered = noNews;
  #nextMs = 0;
  #last: GapReply | undefined;

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /** The last answer, for /debug/state. */
  last(): GapReply | undefined {
    return this.#last;
  }

  /** Asks until `stop`. Resolves at once if it is switched off. */
  async run(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const { gapEveryMs } = config;
    if (gapEveryMs === 0) return;
    this.#nextMs = deps.clock.nowMs() + Math.min(firstMs, gapEveryMs);
    const ends = this.#show();
    try {
      while (!stop.aborted) {
        await deps.clock.sleep(Math.min(lookMs, gapEveryMs), stop);
        if (!stop.aborted && this.#isDue()) await tryTurn(deps, gapTurn, () => this.#ask(stop));
      }
    } finally {
      for (const end of ends) end();
    }
  }

  /** A cluster that never had a node of ours has nothing to compare. */
  #isDue(): boolean {
    const { deps, cluster, news } = this.#context;
    if (deps.clock.nowMs() < this.#nextMs || !cluster.areSynced('claim', 'node', 'pod', 'pool'))
      return false;
    if (this.#last === undefined && cluster.claims.size === 0) return false;
    return !isSameNews(this.#answered, news.counts());
  }

  async #ask(stop: StopSignal): Promise<void> {
    const { deps, config, decisions, news } = this.#context;
    const asked = news.counts();
    const askedMs = deps.clock.nowMs();
    this.#nextMs = askedMs + Math.min(firstMs, config.gapEveryMs);
    const gap = await askGap(this.#context);
    // An older answer must not follow the one of a successor.
    if (gap === undefined || stop.aborted) return;
    this.#nextMs = askedMs + config.gapEveryMs;
    this.#answered = asked;
    this.#last = gap;
    decisions.tell(decisionOfGap(gap));
  }

  #show(): readonly (() => void)[] {
    const { scraped } = this.#context.deps;
    return Object.entries(gauges).map(([name, of]) =>
      scraped.show(name, () => dollarsOf(this.#last === undefined ? undefined : of(this.#last))),
    );
  }
}

/** The gauges, each with its value in micro-dollars an hour. Undefined: it shows none. */
const gauges: Readonly<Record<string, (gap: GapReply) => number | undefined>> = {
  dovetail_cluster_price_dollars: (gap) => gap.priceMicrosPerHour,
  dovetail_cluster_plan_dollars: (gap) => gap.planPriceMicrosPerHour,
  dovetail_cluster_bound_dollars: ({ bound }) =>
    bound.kind === 'none' ? undefined : bound.priceMicrosPerHour,
};

const dollarsOf = (microsPerHour: number | undefined): MetricSamples =>
  microsPerHour === undefined ? [] : [{ value: microsPerHour / 1e6 }];
