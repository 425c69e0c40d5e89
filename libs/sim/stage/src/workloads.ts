import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { budgetObject, deploymentObject, type PodChange, replicaSetObject } from './objects.js';
import type { Stage } from './stage.js';

const { podDisruptionBudgets, pods, replicaSets } = kubeResources;
const deployments = { ...replicaSets, kind: 'Deployment', plural: 'deployments' };
/** Longer than the owner of pods takes to replace those that went for its own reasons. */
const ownChangeMs = 300_000;

type PodFields = {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
};

/**
 * Runs apps on a stage with a control plane, and watches for breaches of their disruption budgets.
 */
export class Workloads {
  /**
   * One line for each moment at which an app lost a healthy pod and was left with fewer than its
   * budget allows. An app that stays below it after a reclaimed node is evicted no further.
   */
  readonly broken: string[] = [];
  readonly #stage: Stage;
  readonly #replicas = new Map<string, number>();
  readonly #budgets = new Map<string, number>();
  readonly #wasHealthy = new Set<string>();
  readonly #healthy = new Map<string, number>();
  readonly #kinds = new Map<string, typeof replicaSets>();
  readonly #rollouts = new Map<string, number>();
  /** Until when the owner's own changes may leave an app with fewer pods than its budget. */
  readonly #ownUntilMs = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
    stage.store.state.subscribe(({ table }) => {
      if (table === 'pods') this.#checkBudgets();
    });
  }

  /**
   * Keeps this many pods of the app, by a ReplicaSet of that name, made when it is first scaled.
   */
  scale(app: string, replicas: number, pod: PodChange = {}): Promise<void> {
    return this.#keep(app, { resource: replicaSets, object: replicaSetObject(app, replicas, pod) });
  }

  /** As `scale`, by a Deployment, which can roll out. */
  deploy(app: string, replicas: number, pod: PodChange = {}): Promise<void> {
    return this.#keep(app, { resource: deployments, object: deploymentObject(app, replicas, pod) });
  }

  /** Changes the pods' template, so that the Deployment replaces all of them. */
  async rollout(app: string): Promise<void> {
    const count = (this.#rollouts.get(app) ?? 0) + 1;
    this.#rollouts.set(app, count);
    this.changesByItself(app);
    const template = { metadata: { annotations: { rollout: String(count) } } };
    await this.#stage.kube.patch(
      { resource: deployments, namespace: 'default', name: app },
      { type: 'merge', body: { spec: { template } } },
    );
  }

  /** The owner of an app takes pods away now, so that a breach of its budget says little. */
  changesByItself(app: string): void {
    this.#ownUntilMs.set(app, this.#stage.clock.nowMs() + ownChangeMs);
  }

  /** Makes the app's budget, or changes it. */
  async budget(app: string, minAvailable: number): Promise<void> {
    const { kube } = this.#stage;
    if (this.#budgets.has(app))
      await kube.patch(
        { resource: podDisruptionBudgets, namespace: 'default', name: `${app}-pdb` },
        { type: 'merge', body: { spec: { minAvailable } } },
      );
    else await kube.create(podDisruptionBudgets, budgetObject(app, minAvailable));
    this.#budgets.set(app, minAvailable);
    // It counts from when the app has once been that healthy.
    this.#wasHealthy.delete(app);
  }

  /** Lowers the app's budget to this, if it has a higher one. */
  async budgetAtMost(app: string, minAvailable: number): Promise<void> {
    if ((this.#budgets.get(app) ?? 0) > minAvailable) await this.budget(app, minAvailable);
  }

  /** Takes the app's budget away, if it has one. */
  async noBudget(app: string): Promise<void> {
    if (!this.#budgets.delete(app)) return;
    const name = `${app}-pdb`;
    await this.#stage.kube.delete({ resource: podDisruptionBudgets, namespace: 'default', name });
  }

  async #keep(
    app: string,
    { resource, object }: { readonly resource: typeof replicaSets; readonly object: KubeObject },
  ): Promise<void> {
    const { kube } = this.#stage;
    const { replicas } = object['spec'] as { readonly replicas: number };
    const known = this.#kinds.get(app);
    if (known !== undefined)
      await kube.patch(
        { resource: known, namespace: 'default', name: app },
        { type: 'merge', body: { spec: { replicas } } },
      );
    else await kube.create(resource, object);
    this.#kinds.set(app, known ?? resource);
    this.#replicas.set(app, replicas);
  }

  /** The app's pods that are not being deleted. */
  podsOf(app: string): readonly (KubeObject & PodFields)[] {
    return this.#stage
      .list(pods)
      .filter(
        ({ metadata }) =>
          metadata.labels?.['app'] === app && metadata.deletionTimestamp === undefined,
      );
  }

  /**
   * Names of the nodes that the app's pods are bound to, and `none` for those that are not bound.
   */
  nodesOf(app: string): readonly string[] {
    return [...new Set(this.podsOf(app).map(({ spec }) => spec?.nodeName ?? 'none'))].sort();
  }

  #checkBudgets(): void {
    for (const [app, minAvailable] of this.#budgets) {
      const healthy = this.podsOf(app).filter(isReady).length;
      const hasLost = healthy < (this.#healthy.get(app) ?? Infinity);
      this.#healthy.set(app, healthy);
      const isOwn = (this.#ownUntilMs.get(app) ?? 0) > this.#stage.clock.nowMs();
      if (healthy >= minAvailable) this.#wasHealthy.add(app);
      else if (isOwn) this.#wasHealthy.delete(app);
      else if (
        hasLost &&
        this.#wasHealthy.has(app) &&
        (this.#replicas.get(app) ?? 0) >= minAvailable
      )
        this.broken.push(
          `${String(this.#stage.seconds())} s: ${app} has ${String(healthy)} of ${String(minAvailable)} pods`,
        );
    }
  }
}

const isReady = ({ status }: PodFields): boolean =>
  (status?.conditions ?? []).some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
