import type { Cluster } from '@dovetail/core-cluster';
import { type Pod, type PodDisruptionBudget, selectorMatches } from '@dovetail/core-kube-model';

/**
 * Label sets that are remembered. Pods of one ReplicaSet share theirs; beyond this, all are
 * forgotten, so that jobs with labels of their own do not fill the memory.
 */
const labelSetsMax = 20_000;

/**
 * Finds the disruption budgets that select a pod. A look at the cluster asks for every pod, and a
 * namespace may have hundreds of budgets. So the answer for a set of labels is kept until a budget
 * comes, goes or selects other pods; how many evictions it allows changes all the time.
 */
export class BudgetsOfPods {
  readonly #cluster: Cluster;
  /** By namespace and labels: the UIDs of the budgets. */
  readonly #selecting = new Map<string, readonly string[]>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.subscribe((change) => {
      if (change.kind !== 'pdb') return;
      const { before, after } = change;
      const selects = (budget: PodDisruptionBudget | undefined): string =>
        budget === undefined ? '' : JSON.stringify([budget.namespace, budget.selector]);
      if (selects(before) !== selects(after)) this.#selecting.clear();
    });
  }

  of({ namespace, labels }: Pick<Pod, 'namespace' | 'labels'>): readonly PodDisruptionBudget[] {
    const { pdbs } = this.#cluster;
    const budgets = pdbs.by('namespace', namespace);
    if (budgets.length === 0) return budgets;
    const key = JSON.stringify([namespace, labels]);
    const held = this.#selecting.get(key) ?? this.#select(key, budgets, labels);
    return held.flatMap((uid) => pdbs.get(uid) ?? []);
  }

  #select(
    key: string,
    budgets: readonly PodDisruptionBudget[],
    labels: Pod['labels'],
  ): readonly string[] {
    if (this.#selecting.size >= labelSetsMax) this.#selecting.clear();
    const uids = budgets
      .filter(({ selector }) => selectorMatches(selector, labels))
      .map(({ uid }) => uid);
    this.#selecting.set(key, uids);
    return uids;
  }
}
