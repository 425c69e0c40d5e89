import {
  type InterruptionQueue,
  type KubeApi,
  type KubeObject,
  kubeResources,
  noVitals,
  type Service,
  type Stopper,
  type Traces,
} from '@dovetail/core-ports';
import {
  conditionObjects,
  conditionsIn,
  withCondition,
  withoutCondition,
} from '@dovetail/service-kit';
import {
  clusterName,
  type Death,
  hash,
  leading,
  Mortal,
  nodePoolObject,
  podObject,
  type ReadyNode,
  type ReadyNodeOptions,
  ReadyNodes,
  Stage,
  Workloads,
} from '@dovetail/sim-stage';

import { defaultReaperConfig, type ReaperConfig } from '../config.js';
import type { ReaperDeps } from '../deps.js';
import { createReaper } from '../reaper.js';

export type ReaperOptions = {
  /** Where the reaper dies; default: it lives. */
  readonly death?: Death;
  readonly config?: Partial<ReaperConfig>;
  /** Another view of the API server. */
  readonly kube?: KubeApi;
  /** The API server for work with a deadline. */
  readonly urgentKube?: KubeApi;
  /** Another view of EC2. */
  readonly cloud?: ReaperDeps['cloud'];
  /** Another view of the queue of notices. */
  readonly queue?: InterruptionQueue;
  /** Another connection to the bus. */
  readonly bus?: ReaperDeps['bus'];
  /** Another time of day. */
  readonly clock?: ReaperDeps['clock'];
  /** The API server's clock beside that; default: the same. */
  readonly serverClock?: ReaperDeps['serverClock'];
  /** Raised when the reaper is no longer the leader, before it can know. */
  readonly office?: Stopper;
  /** Where its spans go; default: it traces nothing. */
  readonly traces?: Traces;
};
export type RunningReaper = {
  readonly stop: Stopper;
  readonly life: Mortal<ReaperDeps>;
  readonly reaper: Service;
};

/**
 * A stage for reapers: nodes as the launcher leaves them, and apps that a control plane keeps
 * running.
 */
export class ReaperStage extends Stage {
  readonly workloads: Workloads;
  readonly #nodes: ReadyNodes;

  constructor() {
    super({
      // The reaper ends nodes whose pool is gone by itself; nobody else may do it for it.
      controlPlane: { without: ['garbage', 'nodeLifecycle', 'taintEviction'] },
      kubelets: { joinMs: 0, readyMs: 0, podStartMs: 0, podStopMs: 1_000, lostAfterMs: 500 },
    });
    this.workloads = new Workloads(this);
    this.#nodes = new ReadyNodes(this);
  }

  override async begin(): Promise<this> {
    await super.begin();
    await this.advance(1_000);
    return this;
  }

  deps(): ReaperDeps {
    return {
      kube: this.kube,
      serverClock: { aheadMs: () => 0 },
      cloud: this.cloud,
      queue: this.cloud,
      bus: this.connect(),
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      scraped: this.metrics,
      vitals: noVitals,
      hash,
      leadership: leading(1),
    };
  }

  /** Starts a reaper that leads. It lives until `stop` is raised, or dies at the given effect. */
  reaper(options: ReaperOptions = {}): RunningReaper {
    const { kube = this.kube, cloud = this.cloud, clock = this.clock } = options;
    const { bus = this.connect(), queue = this.cloud } = options;
    const leadership = leading(1, options.office);
    const ports = { ...this.deps(), kube, cloud, queue, clock, bus, leadership };
    const { urgentKube, serverClock = ports.serverClock } = options;
    const life = new Mortal(
      { ...ports, serverClock, ...(urgentKube === undefined ? {} : { urgentKube }) },
      options.death,
      this.stop.signal,
    );
    // Tests count the questions to solvers: only those of the gap ask for it.
    const config = { clusterName, ...defaultReaperConfig, gapEveryMs: 0, ...options.config };
    const traced = options.traces === undefined ? {} : { traces: options.traces };
    const reaper = createReaper({ ...life.ports, ...traced }, config);
    void reaper.run(life.stop);
    return { stop: life.stop, life, reaper };
  }

  async nodePool(name: string, disruption: object): Promise<void> {
    const node = { requirements: [], expireAfter: undefined };
    await this.kube.create(kubeResources.nodePools, nodePoolObject(name, { disruption, node }));
  }

  node(name: string, options: ReadyNodeOptions = {}): Promise<ReadyNode> {
    return this.#nodes.make(name, options);
  }

  /** An instance with our tags that belongs to no claim. */
  strayInstance(): Promise<string> {
    return this.#nodes.launch();
  }

  scale(app: string, replicas: number): Promise<void> {
    return this.workloads.scale(app, replicas, { spec: { terminationGracePeriodSeconds: 3 } });
  }

  budget(app: string, minAvailable: number): Promise<void> {
    return this.workloads.budget(app, minAvailable);
  }

  /** Says that a node has drifted, as the launcher does; with no reason, that it has not. */
  async drift(node: string, reason?: string): Promise<void> {
    const ref = { resource: kubeResources.nodeClaims, name: `claim-${node}` };
    const claim = await this.kube.get(ref);
    const held = withoutCondition(conditionsIn(claim ?? {}), 'Drifted');
    const condition = { type: 'Drifted', status: 'True', reason: reason ?? '' } as const;
    const next = reason === undefined ? held : withCondition(held, condition, this.clock.nowMs());
    const body = { status: { conditions: conditionObjects(next) } };
    await this.kube.patch(ref, { type: 'merge', body }, { subresource: 'status' });
  }

  /** Says whether a node is ready, as its kubelet or the node lifecycle does. */
  async ready(name: string, isReady: boolean): Promise<void> {
    const condition = { type: 'Ready', status: isReady ? 'True' : 'Unknown' };
    await this.kube.patch(
      { resource: kubeResources.nodes, name },
      { type: 'merge', body: { status: { conditions: [condition] } } },
      { subresource: 'status' },
    );
  }

  get broken(): readonly string[] {
    return this.workloads.broken;
  }

  /** A pod of a ReplicaSet. */
  pod(
    name: string,
    app: string,
    more: { readonly annotations?: Readonly<Record<string, string>>; readonly spec?: object } = {},
  ): Promise<KubeObject> {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: `owner-${app}` };
    return this.kube.create(
      kubeResources.pods,
      podObject(name, {
        labels: { app },
        metadata: {
          annotations: more.annotations ?? {},
          ownerReferences: [{ ...owner, controller: true }],
        },
        spec: { terminationGracePeriodSeconds: 3, ...more.spec },
      }),
    );
  }

  /** The commands that are not over. */
  commandsUnderWay(): readonly KubeObject[] {
    return this.list(kubeResources.disruptions).filter(
      ({ status }) => (status as { readonly endedAt?: string } | undefined)?.endedAt === undefined,
    );
  }
}
