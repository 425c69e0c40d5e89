import type { Cluster, ClusterChange } from '@dovetail/core-cluster';
import { isTerminal, type Pod } from '@dovetail/core-kube-model';
import type { Clock, Metrics } from '@dovetail/core-ports';

import { dynamicResources } from './pod-samples.js';

/** The ports and tables that `PodTimes` works with. */
export type PodTimesDeps = {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly metrics: Pick<Metrics, 'observe'>;
  readonly cluster: Pick<Cluster, 'pods' | 'subscribe'>;
};

/**
 * Measures how long pods take to be bound and to be ready. Like Karpenter, it counts a pod only if
 * it saw it pending. It measures by the watch, and so reads at most a second or so more.
 */
export class PodTimes {
  readonly #deps: PodTimesDeps;
  readonly #unbound = new Set<string>();
  readonly #unstarted = new Set<string>();

  constructor(deps: PodTimesDeps) {
    this.#deps = deps;
  }

  /** UIDs of the pods that were seen pending and have not been ready since. */
  get unstarted(): ReadonlySet<string> {
    return this.#unstarted;
  }

  /** Measures until the answer is called. */
  begin(): () => void {
    const { cluster } = this.#deps;
    for (const pod of cluster.pods.values()) this.#look(pod);
    return cluster.subscribe((change) => this.#heard(change));
  }

  #heard(change: ClusterChange): void {
    if (change.kind !== 'pod') return;
    if (change.after !== undefined) this.#look(change.after);
    else this.#forget(change.uid);
  }

  #look(pod: Pod): void {
    const { uid, phase, nodeName, ready } = pod;
    if (phase === 'Pending') {
      this.#unstarted.add(uid);
      if (nodeName === undefined) this.#unbound.add(uid);
    }
    if (nodeName !== undefined && this.#unbound.delete(uid))
      this.#observe('karpenter_pods_bound_duration_seconds', pod, {
        dynamic_resources: dynamicResources(pod),
      });
    // A pod that has ended was not seen ready in time: its condition says no.
    if (isTerminal(pod)) this.#unstarted.delete(uid);
    else if (ready && this.#unstarted.delete(uid))
      this.#observe('karpenter_pods_startup_duration_seconds', pod, {});
  }

  #observe(name: string, { createdMs }: Pod, labels: Readonly<Record<string, string>>): void {
    const { clock, metrics } = this.#deps;
    // Our clock and the API server's may differ: no pod was ready before it was made.
    metrics.observe(name, Math.max(0, clock.nowMs() - createdMs) / 1_000, labels);
  }

  #forget(uid: string): void {
    this.#unbound.delete(uid);
    this.#unstarted.delete(uid);
  }
}
