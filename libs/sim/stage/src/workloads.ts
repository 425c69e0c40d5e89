import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { budgetObject, type PodChange, replicaSetObject } from './objects.js';
import type { Stage } from './stage.js';

const { podDisruptionBudgets, pods, replicaSets } = kubeResources;
type PodFields = {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
};

/**
 * Runs apps on a stage with a control plane, and watches for breaches of their disruption budgets.
 */
export class Workloads {
  /** One line for each moment at which an app had fewer healthy pods than its budget allows. */
  readonly broken: string[] = [];
  readonly #stage: Stage;
  readonly #replicas = new Map<string, number>();
  readonly #budgets = new Map<string, number>();
  readonly #wasHealthy = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
    stage.store.state.subscribe(({ table }) => {
      if (table === 'pods') this.#checkBudgets();
    });
  }

  /**
   * Keeps this many pods of the app, by a ReplicaSet of that name, made when it is first scaled.
   */
  async scale(app: string, replicas: number, pod: PodChange = {}): Promise<void> {
    const { kube } = this.#stage;
    if (this.#replicas.has(app))
      await kube.patch(
        { resource: replicaSets, namespace: 'default', name: app },
        { type: 'merge', body: { spec: { replicas } } },
      );
    else await kube.create(replicaSets, replicaSetObject(app, replicas, pod));
    this.#replicas.set(app, replicas);
  }

  async budget(app: string, minAvailable: number): Promise<void> {
    this.#budgets.set(app, minAvailable);
    await this.#stage.kube.create(podDisruptionBudgets, budgetObject(app, minAvailable));
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
      if (healthy >= minAvailable) this.#wasHealthy.add(app);
      else if (this.#wasHealthy.has(app) && (this.#replicas.get(app) ?? 0) >= minAvailable)
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
