import { cpus, loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { servePlanner } from '@dovetail/contracts';
import { kubeResources, noVitals, Stopper } from '@dovetail/core-ports';
import type { Plan } from '@dovetail/core-scheduling';
import { createLog, createMetrics, systemClock, systemHash } from '@dovetail/runtime';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { leading } from '@dovetail/sim-stage';
import Table from 'cli-table3';

import { standingCloud } from './disruption/cloud.js';
import { StandingKube } from './disruption/kube.js';
import { objectsOf, tagsOf } from './disruption/world.js';
import { keepRun } from './kept.js';

const flags = {
  nodes: { type: 'string', default: '5000' },
  pods: { type: 'string', default: '50000' },
  budgets: { type: 'string', default: '500' },
  /** How long each part lasts, in seconds. */
  seconds: { type: 'string', default: '30' },
} as const;

/** One part of a run. */
type Part = {
  readonly what: string;
  /** The longest time for which the event loop was held, and the 99th percentile. */
  readonly longestMs: number;
  readonly p99Ms: number;
  readonly whatIfs: number;
  /** Calls of the API server, by verb and kind. */
  readonly calls: Readonly<Record<string, number>>;
};

/** One run, as a line of `bench/results/disruption.ndjson`. */
type DisruptionResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly nodes: number;
  readonly pods: number;
  readonly budgets: number;
  readonly parts: readonly Part[];
};

const wantedMs = 100;
const cluster = 'bench';

/** A reaper over a cluster that stands still, and a solver that finds room for no pod. */
class Standing {
  readonly kube: StandingKube;
  readonly #stop = new Stopper();
  readonly #server = new MemoryBusServer(systemClock);
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  readonly #nodes: number;
  #whatIfs = 0;

  constructor(nodes: number, podsPerNode: number, budgets: number) {
    this.#nodes = nodes;
    const objects = objectsOf({ nodes, podsPerNode }, budgets);
    this.kube = new StandingKube(objects);
    const ids = (objects.get(kubeResources.nodes.plural) ?? []).map(
      ({ spec }) => (spec as { readonly providerID: string }).providerID.split('/').at(-1) ?? '',
    );
    this.#serve();
    const { metrics } = createMetrics(reaperMetrics);
    const deps = {
      kube: this.kube.api,
      serverClock: { aheadMs: () => 0 },
      cloud: standingCloud(ids, tagsOf(cluster)),
      bus: memoryBus(this.#server),
      clock: systemClock,
      log: createLog({ service: 'bench', level: 'warn' }),
      metrics,
      scraped: metrics,
      vitals: noVitals,
      hash: systemHash,
      leadership: leading(1),
    };
    const config = { ...defaultReaperConfig, clusterName: cluster };
    void createReaper(deps, config).run(this.#stop);
  }

  #serve(): void {
    const channel = {
      bus: memoryBus(this.#server),
      clock: systemClock,
      hash: systemHash,
      cluster,
      source: 'solver',
    };
    void servePlanner(
      channel,
      async (_mode, { podUids }) => {
        this.#whatIfs += 1;
        // As an answer from another process.
        await setTimeout(1);
        const unplaced = podUids.map((podUid) => ({ podUid, reasons: [] }));
        const statePosition = { incarnation: 'one', sequence: 1 };
        const reply = { planId: 'plan', statePosition, plan: { ...nothing, unplaced } };
        return { ok: true, reply };
      },
      this.#stop,
    );
  }

  /** Measures while the work lasts. */
  async part(what: string, work: () => Promise<unknown>): Promise<Part> {
    this.#whatIfs = 0;
    this.kube.calls.clear();
    this.#delay.reset();
    this.#delay.enable();
    await work();
    this.#delay.disable();
    const [longestMs, p99Ms] = [this.#delay.max / 1e6, this.#delay.percentile(99) / 1e6];
    const calls = Object.fromEntries(this.kube.calls);
    return { what, longestMs, p99Ms, whatIfs: this.#whatIfs, calls };
  }

  /** Waits until no what-if was asked for some seconds. */
  async untilQuiet(seconds: number): Promise<void> {
    for (let quiet = 0, before = -1; quiet < seconds;) {
      quiet = before === this.#whatIfs ? quiet + 1 : 0;
      before = this.#whatIfs;
      await setTimeout(1_000);
    }
  }

  /** Each node says in turn that it is alive, each every ten seconds. */
  async heartbeats(seconds: number): Promise<void> {
    const perTurn = Math.ceil(this.#nodes / 1_000);
    for (let turn = 0; turn < seconds * 100; turn += 1) {
      for (let one = 0; one < perTurn; one += 1) this.#beat((turn * perTurn + one) % this.#nodes);
      await setTimeout(10);
    }
  }

  #beat(node: number): void {
    const heartbeat = new Date().toISOString();
    const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
      type,
      status: type === 'Ready' ? 'True' : 'False',
      lastHeartbeatTime: heartbeat,
      lastTransitionTime: '2026-01-02T03:04:05Z',
    }));
    this.kube.change(kubeResources.nodes, node, {
      type: 'merge',
      body: { status: { conditions } },
    });
  }

  end(): void {
    this.#stop.abort();
  }
}

/** A plan that does nothing. */
const nothing: Plan = {
  stateSequence: 1,
  catalogRevision: 'one',
  admissionHead: '1.1',
  newNodes: [],
  placements: [],
  unplaced: [],
  seed: 1,
  steps: 0,
  priceMicrosPerHour: 0,
  bound: { kind: 'none', priceMicrosPerHour: 0 },
  stats: { pods: 0, classes: 0, instanceTypes: 0 },
};

/** Measures how long disruption holds a large cluster's reaper, and what it asks. */
export async function disruption(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const [nodes, pods] = [Number(values.nodes), Number(values.pods)];
  const budgets = Number(values.budgets);
  const seconds = Number(values.seconds);
  const loadBefore = loadavg()[0] ?? 0;
  const standing = new Standing(nodes, Math.ceil(pods / nodes), budgets);
  const parts = [
    await standing.part('first list, and the first looks', () => setTimeout(seconds * 1_000)),
    await standing.part('the rest of the first search', () => standing.untilQuiet(20)),
    await standing.part('rest', () => setTimeout(seconds * 1_000)),
    await standing.part('heartbeats of all nodes', () => standing.heartbeats(seconds)),
  ];
  standing.end();
  const table = new Table({ head: ['part', 'longest ms', 'p99 ms', 'what-ifs', 'calls'] });
  for (const { what, longestMs, p99Ms, whatIfs, calls } of parts)
    table.push([what, longestMs.toFixed(0), p99Ms.toFixed(0), whatIfs, JSON.stringify(calls)]);
  process.stdout.write(`${table.toString()}\n`);
  const worst = Math.max(...parts.map(({ longestMs }) => longestMs));
  const verdict = worst <= wantedMs ? 'met' : 'missed';
  process.stdout.write(
    `the event loop was held for ${worst.toFixed(0)} ms at most; wanted: ${String(wantedMs)} ms: ${verdict}\n`,
  );
  const at = new Date().toISOString();
  const run = { at, cpus: cpus().length, loadBefore, nodes, pods, budgets, parts };
  await keepRun<DisruptionResults>('disruption', run);
}
