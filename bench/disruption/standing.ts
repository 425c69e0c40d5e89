import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

import {
  type Channel,
  type PlanRequest,
  publishClassCatalog,
  servePlanner,
  streamSpecs,
} from '@dovetail/contracts';
import { offeringValue, plainTypeValue } from '@dovetail/core-ec2-model/testing';
import { type KubeObject, kubeResources, noVitals, Stopper } from '@dovetail/core-ports';
import type { Plan } from '@dovetail/core-scheduling';
import { createLog, createMetrics, systemClock, systemHash } from '@dovetail/runtime';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { leading } from '@dovetail/sim-stage';

import { standingCloud } from './cloud.js';
import { StandingKube } from './kube.js';
import { objectsOf, tagsOf } from './world.js';

const cluster = 'bench';

/** One part of a run. */
export type Part = {
  readonly what: string;
  /** The longest time for which the event loop was held, and the 99th percentile. */
  readonly longestMs: number;
  readonly p99Ms: number;
  readonly whatIfs: number;
  /** Calls of the API server, by verb and kind. */
  readonly calls: Readonly<Record<string, number>>;
};

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

/**
 * A reaper over a cluster that stands still, and a solver that finds room for no pod, until it is
 * told to find some.
 */
export class Standing {
  readonly kube: StandingKube;
  readonly #stop = new Stopper();
  readonly #server = new MemoryBusServer(systemClock);
  readonly #delay = monitorEventLoopDelay({ resolution: 1 });
  readonly #nodes: readonly KubeObject[];
  #whatIfs = 0;
  /** Whether the pods of every tenth node that is asked about fit on another one. */
  #isPlacing = false;

  constructor(nodes: number, podsPerNode: number, budgets: number) {
    const objects = objectsOf({ nodes, podsPerNode }, budgets);
    this.#nodes = objects.get(kubeResources.nodes.plural) ?? [];
    this.kube = new StandingKube(objects);
    const ids = this.#nodes.map(
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
    // Only questions about nodes are counted.
    const config = { ...defaultReaperConfig, gapEveryMs: 0, clusterName: cluster };
    void createReaper(deps, config).run(this.#stop);
  }

  #channel(source: string): Channel {
    const bus = memoryBus(this.#server);
    return { bus, clock: systemClock, hash: systemHash, cluster, source };
  }

  #serve(): void {
    void servePlanner(
      this.#channel('solver'),
      async (_mode, request) => {
        this.#whatIfs += 1;
        // As an answer from another process.
        await setTimeout(1);
        const statePosition = { incarnation: 'one', sequence: this.#whatIfs };
        const planId = `plan-${String(this.#whatIfs)}`;
        return { ok: true, reply: { planId, statePosition, plan: this.#planFor(request) } };
      },
      this.#stop,
    );
  }

  #planFor({ podUids, withoutNodes }: PlanRequest): Plan {
    const at = this.#nodes.findIndex(({ metadata }) => metadata.name === withoutNodes[0]);
    const other = this.#nodes[(at + 1) % this.#nodes.length];
    if (!this.#isPlacing || withoutNodes.length > 1 || at % 10 > 0 || other === undefined)
      return { ...nothing, unplaced: podUids.map((podUid) => ({ podUid, reasons: [] })) };
    const { name: nodeName, uid: nodeUid = '' } = other.metadata;
    return { ...nothing, placements: [{ nodeName, nodeUid, podUids, topologyGroups: [] }] };
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
    const { length } = this.#nodes;
    const perTurn = Math.ceil(length / 1_000);
    for (let turn = 0; turn < seconds * 100; turn += 1) {
      for (let one = 0; one < perTurn; one += 1) this.#beat((turn * perTurn + one) % length);
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

  /** The prices of all nodes change every five seconds, and so does a pod. */
  async prices(seconds: number): Promise<void> {
    await memoryBus(this.#server).ensureStreams(streamSpecs(cluster));
    for (let turn = 1; turn <= seconds / 5; turn += 1) {
      const offering = { priceMicrosPerHour: 100_000 + turn };
      const zones = ['us-west-2a', 'us-west-2b', 'us-west-2c'];
      const type = {
        ...plainTypeValue('m6i.2xlarge', 8_000),
        offerings: zones.map((zone) => ({ ...offeringValue('a', 'spot', 0), ...offering, zone })),
      };
      const revision = String(turn);
      await publishClassCatalog(
        this.#channel('launcher'),
        { classUid: 'class', revision, instanceTypes: [type] },
        { generation: revision },
      );
      this.news();
      await setTimeout(5_000);
    }
  }

  /** So many nodes drift in one moment. */
  async drift(nodes: number, seconds: number): Promise<void> {
    for (let at = 0; at < nodes; at += 1) {
      const claim = this.kube.at(kubeResources.nodeClaims, at);
      const { conditions = [] } = (claim?.['status'] ?? {}) as { conditions?: readonly object[] };
      const drifted = { ...conditions[0], type: 'Drifted', reason: 'NodePoolDrifted' };
      const body = { status: { conditions: [...conditions, drifted] } };
      this.kube.change(kubeResources.nodeClaims, at, { type: 'merge', body });
    }
    await setTimeout(seconds * 1_000);
  }

  /** Commands are found from now on. */
  async commands(seconds: number): Promise<void> {
    this.#isPlacing = true;
    this.news();
    await setTimeout(seconds * 1_000);
  }

  /** A pod changes, so that the reaper searches again. */
  news(): void {
    const body = { metadata: { labels: { changed: String(Date.now()) } } };
    this.kube.change(kubeResources.pods, 0, { type: 'merge', body });
  }

  end(): void {
    this.#stop.abort();
  }
}
