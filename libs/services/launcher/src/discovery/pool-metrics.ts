import type { Pool, PoolIdentity } from '@dovetail/core-api';
import type { Resources } from '@dovetail/core-kube-model';
import type { Metrics } from '@dovetail/core-ports';

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

  /** Shows these amounts of the pool, and none that it had before. */
  show({ uid, identity, limits }: Pool, used: Resources): void {
    this.forget(uid);
    this.#shown.set(uid, identity);
    const metrics = this.#metrics;
    const isNodePool = identity.kind === 'NodePool';
    for (const [type, amount] of Object.entries(used)) {
      const of = { ...labelsOf(identity), resource_type: type };
      if (isNodePool) metrics.set('karpenter_nodepools_usage', amount, of);
      else metrics.set('karpenter_provisioner_usage', amount, of);
    }
    for (const [type, amount] of Object.entries(limits)) {
      const of = { ...labelsOf(identity), resource_type: type };
      if (isNodePool) metrics.set('karpenter_nodepools_limit', amount, of);
      else metrics.set('karpenter_provisioner_limit', amount, of);
    }
  }

  /** The pool is gone. */
  forget(uid: string): void {
    const identity = this.#shown.get(uid);
    if (identity === undefined) return;
    this.#shown.delete(uid);
    const of = identity.kind === 'NodePool' ? 'nodepools' : 'provisioner';
    for (const what of ['usage', 'limit'])
      this.#metrics.remove(`karpenter_${of}_${what}`, labelsOf(identity));
  }
}

const labelsOf = ({ kind, name }: PoolIdentity): Readonly<Record<string, string>> =>
  kind === 'NodePool' ? { nodepool: name } : { provisioner: name };
