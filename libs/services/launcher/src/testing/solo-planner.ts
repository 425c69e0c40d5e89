import {
  followCatalog,
  type PlanCause,
  planIdOf,
  type PlanMessage,
  publishPlan,
  replacedNodes,
} from '@dovetail/contracts';
import {
  type CatalogView,
  Cluster,
  isWaiting,
  promiseHolding,
  snapshotOf,
} from '@dovetail/core-cluster';
import { type InstanceType, typesWithPoolKubelet } from '@dovetail/core-ec2-model';
import { compareText, type Pod } from '@dovetail/core-kube-model';
import { defaultPlanOptions, plan, type PlanOptions } from '@dovetail/core-scheduling';
import { hash } from '@dovetail/sim-stage';

import { watchCluster, watchedKinds } from '../cluster/watches.js';
import type { LauncherStage } from './launcher-stage.js';

export type Planning = {
  /** Default: the pods are pending. */
  readonly cause?: PlanCause;
  /** How the planner differs from the default one. */
  readonly options?: Partial<PlanOptions>;
  /** Changes the plan before it is published. */
  readonly change?: (plan: PlanMessage) => PlanMessage;
};

/** Plans like pod-watcher and a solver in one: from its own watches and the published catalog. */
export class SoloPlanner {
  readonly cluster = new Cluster(watchedKinds);
  readonly catalog: CatalogView = {
    revision: '1',
    typesOf: (key, kubelet) => {
      const row = this.cluster.nodeClasses.one('key', key);
      if (row === undefined) return new Map();
      const published = [...(this.#types.get(row.uid)?.values() ?? [])];
      const types = typesWithPoolKubelet(published, row, kubelet);
      return new Map(types.map((type) => [type.name, type]));
    },
  };
  readonly #stage: LauncherStage;
  readonly #types = new Map<string, Map<string, InstanceType>>();

  constructor(stage: LauncherStage) {
    this.#stage = stage;
  }

  async begin(): Promise<void> {
    const { kube, clock, log, metrics, stop } = this.#stage;
    const version = await kube.serverVersion();
    void watchCluster({ kube, clock, log, metrics }, this.cluster, version, stop.signal);
    void this.#followCatalog();
  }

  /** Plans these pods on what is known now, and publishes the plan. */
  async planFor(names: readonly string[], planning: Planning = {}): Promise<PlanMessage> {
    const { clock } = this.#stage;
    const pods = [...this.cluster.pods.values()]
      .filter((pod) => names.includes(pod.name))
      .sort((a, b) => compareText(a.uid, b.uid));
    const cause: PlanCause = planning.cause ?? {
      kind: 'pending',
      group: 'all',
      round: `1.${String(clock.nowMs())}`,
    };
    const content = {
      cause,
      plan: plan(this.#snapshot(cause), pods.map(unbound), {
        ...defaultPlanOptions,
        ...planning.options,
      }),
      statePosition: { incarnation: 'test', sequence: 1 },
      admissionSeen: (await this.#stage.head()) ?? { epoch: 0, number: 0 },
      createdMs: clock.nowMs(),
      solver: 'test',
      solveMs: 1,
    };
    const message: PlanMessage = { ...content, id: planIdOf(hash, content) };
    const sent = planning.change?.(message) ?? message;
    await publishPlan(this.#stage.channel, sent);
    return sent;
  }

  /** From now on plans whatever is pending and not promised. */
  planAlways(): void {
    void this.#planAlways();
  }

  async #planAlways(): Promise<void> {
    const { clock, stop } = this.#stage;
    while (!stop.signal.aborted) {
      const free = [...this.cluster.pods.values()].filter(
        (pod) =>
          isWaiting(pod) && promiseHolding(this.cluster, pod.uid, clock.nowMs()) === undefined,
      );
      if (free.length > 0) await this.planFor(free.map((pod) => pod.name)).catch(() => undefined);
      await clock.sleep(1_000, stop.signal);
    }
  }

  #snapshot(cause: PlanCause): ReturnType<typeof snapshotOf> {
    const snapshot = snapshotOf(this.cluster, this.catalog, this.#stage.clock.nowMs());
    if (cause.kind === 'pending') return snapshot;
    const replaced = replacedNodes(cause).map(({ nodeUid }) => nodeUid);
    return { ...snapshot, nodes: snapshot.nodes.filter(({ uid }) => !replaced.includes(uid)) };
  }

  async #followCatalog(): Promise<void> {
    const { channel, stop } = this.#stage;
    for await (const event of followCatalog(channel, stop.signal)) {
      if (event.kind !== 'class') continue;
      const { classUid, part, instanceTypes } = event.part;
      const known = part === 0 ? new Map<string, InstanceType>() : this.#types.get(classUid);
      const types = known ?? new Map<string, InstanceType>();
      for (const type of instanceTypes) types.set(type.name, type);
      this.#types.set(classUid, types);
    }
  }
}

function unbound(pod: Pod): Pod {
  const { nodeName: _nodeName, ...rest } = pod;
  return { ...rest, phase: 'Pending' };
}
