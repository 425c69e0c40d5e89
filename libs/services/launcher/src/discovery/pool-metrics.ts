import type { Pool, PoolIdentity } from '@dovetail/core-api';
import type { Resources } from '@dovetail/core-kube-model';
import type { Metrics } from '@dovetail/core-ports';
import { measuredResources } from '@dovetail/service-kit';

/**
 * Shows the usage and the limits of pools. A Provisioner has metrics of its own, as it had in
 * Karpenter, since it may have the name of a NodePool.
 */
export class PoolMetrics {
  readonly #metrics: Pick<Metrics, 'set' | 'remove'>;
  readonly #shown = new Map<string, PoolIdentity>();

  constructor({ metrics }: { readonly metrics: Pick<Metrics, 'set' | 'remove'> }) {
    this.#metrics = metrics;
  }

  /**
   * Shows these amounts and this price an hour of the pool's nodes, and none that it had before. A
   * Provisioner has no metric of its price, as in Karpenter.
   */
  show(
    { uid, identity, limits }: Pool,
    { used, priceMicrosPerHour }: { readonly used: Resources; readonly priceMicrosPerHour: number },
  ): void {
    this.forget(uid);
    this.#shown.set(uid, identity);
    const metrics = this.#metrics;
    const isNodePool = identity.kind === 'NodePool';
    const labels = labelsOf(identity);
    for (const [type, amount] of measuredResources(used)) {
      const of = { ...labels, resource_type: type };
      if (isNodePool) metrics.set('karpenter_nodepools_usage', amount, of);
      else metrics.set('karpenter_provisioner_usage', amount, of);
    }
    for (const [type, amount] of measuredResources(limits)) {
      const of = { ...labels, resource_type: type };
      if (isNodePool) metrics.set('karpenter_nodepools_limit', amount, of);
      else metrics.set('karpenter_provisioner_limit', amount, of);
    }
    if (isNodePool) metrics.set('karpenter_nodepools_cost_total', priceMicrosPerHour / 1e6, labels);
  }

  /** The pool is gone. */
  forget(uid: string): void {
    const identity = this.#shown.get(uid);
    if (identity === undefined) return;
    this.#shown.delete(uid);
    const of = identity.kind === 'NodePool' ? 'nodepools' : 'provisioner';
    for (const what of ['usage', 'limit', 'cost_total'])
      this.#metrics.remove(`karpenter_${of}_${what}`, labelsOf(identity));
  }
}

const labelsOf = ({ kind, name }: PoolIdentity): Readonly<Record<string, string>> =>
  kind === 'NodePool' ? { nodepool: name } : { provisioner: name };
