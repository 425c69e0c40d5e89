import { labels, type NodeClaim } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { type TerminationFacts } from '@dovetail/core-disruption';
import type { Clock, Metrics } from '@dovetail/core-ports';

/** Measures terminations. A restart forgets them, which costs a drain its minimum once more. */
export class TerminationTimes {
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  /** When a claim was first seen here to be deleted, by UID. */
  readonly #begunMs = new Map<string, number>();
  /** When the call that ends an instance was made, by instance. */
  readonly #calledMs = new Map<string, number>();

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** When the end of this claim began, in milliseconds since 1970: now, if it is new here. */
  begun(claim: NodeClaim): number {
    const begunMs = this.#begunMs.get(claim.uid) ?? this.#clock.nowMs();
    this.#begunMs.set(claim.uid, begunMs);
    return begunMs;
  }

  /** The call that ends an instance was accepted; the first one counts. */
  called(instanceId: string): void {
    if (!this.#calledMs.has(instanceId)) this.#calledMs.set(instanceId, this.#clock.nowMs());
  }

  /** EC2 did not end the instance of this claim. */
  failed({ labels: held }: Pick<NodeClaim, 'labels'>): void {
    this.#metrics.count('karpenter_cloudprovider_instance_termination_failures_total', {
      zone: held[labels.zone] ?? '',
      zone_id: held[labels.zoneId] ?? '',
    });
  }

  /** The claim is released: counts it, with its instance and its node. */
  ended({ claim, node, nowMs, endingSinceMs }: TerminationFacts): void {
    const pool = { nodepool: claim.pool.name };
    const tookSeconds = (nowMs - endingSinceMs) / 1_000;
    const zone = claim.labels[labels.zone] ?? '';
    this.#metrics.count('karpenter_nodeclaims_terminated_total', {
      ...pool,
      capacity_type: claim.labels[labels.capacityType] ?? '',
      zone,
    });
    const observe = (name: string, seconds: number): void =>
      this.#metrics.observe(name, seconds, pool);
    observe('karpenter_nodeclaims_termination_duration_seconds', tookSeconds);
    const calledMs = this.#forget(claim);
    if (calledMs !== undefined)
      observe(
        'karpenter_nodeclaims_instance_termination_duration_seconds',
        (nowMs - calledMs) / 1_000,
      );
    if (node === undefined) return;
    this.#metrics.count('karpenter_nodes_terminated_total', { ...pool, zone });
    observe('karpenter_nodes_lifetime_duration_seconds', (nowMs - node.createdMs) / 1_000);
    if (node.deletionMs !== undefined)
      observe('karpenter_nodes_termination_duration_seconds', tookSeconds);
  }

  /** Forgets the claim. Answers when we asked EC2 to end its instance. */
  #forget(claim: NodeClaim): number | undefined {
    this.#begunMs.delete(claim.uid);
    const id = instanceIdOf(claim);
    if (id === undefined) return undefined;
    const calledMs = this.#calledMs.get(id);
    this.#calledMs.delete(id);
    return calledMs;
  }
}
