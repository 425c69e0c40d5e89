import type { NodeClaim } from '@dovetail/core-api';
import { type Cluster, livePromise } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { Clock, Log, Metrics } from '@dovetail/core-ports';
import { aboutClaim, conditionOf, type EventRecorder } from '@dovetail/service-kit';

import type { PromiseHolder, PromiseWriter } from '../admission/promise-writer.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { isOverdue, overdueNode } from './node-changes.js';

/** The writers that end promises, and the outlets that tell of it. */
export type OverdueDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly promises: Pick<PromiseWriter, 'end'>;
  readonly events: EventRecorder;
};

/**
 * Ends what a node promises that registered and does not become usable: a kubelet that died, a
 * startup taint that stays. Its pods are planned again, and not onto it. The node itself is left to
 * its owner.
 */
export class Overdue {
  readonly #deps: OverdueDeps;
  readonly #timeoutMs: number;

  constructor(deps: OverdueDeps, options: { readonly initializationTimeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = options.initializationTimeoutMs;
  }

  /**
   * Answers how long the node has left, in milliseconds, or undefined when its time is over. Its
   * promises have then ended. `cause` says why it is not initialized.
   */
  async check(node: Node, claim: NodeClaim, cause: string): Promise<number | undefined> {
    const { clock, cluster, promises, writer } = this.#deps;
    const registeredMs = conditionOf(claim.conditions, 'Registered')?.lastTransitionMs;
    const leftMs = (registeredMs ?? claim.createdMs) + this.#timeoutMs - clock.nowMs();
    if (leftMs > 0) return leftMs;
    // The mark comes first: solvers must not plan the pods onto this node again.
    if (!isOverdue(node)) {
      const marked = await writer.changeNode(node, (now) => overdueNode(now, clock.nowMs()));
      if (marked !== undefined) this.#report(node, claim, cause);
    }
    const holders: readonly PromiseHolder[] = [
      { kind: 'NodeClaim', value: claim },
      { kind: 'Node', value: node },
    ];
    for (const holder of holders)
      if (isEndless(cluster, holder, clock.nowMs())) await promises.end(holder);
    return undefined;
  }

  #report(node: Node, claim: NodeClaim, cause: string): void {
    const { log, metrics, events, cluster, clock } = this.#deps;
    const waiting = livePromise(cluster, claim.uid, clock.nowMs())?.waiting.length ?? 0;
    const message = `node ${node.name} was not initialized in ${this.#timeoutMs / 1000} s (${cause}); ${waiting} ${waiting === 1 ? 'pod' : 'pods'} that it was made for are planned again`;
    log.warn('node-overdue', message, { node: node.name, claim: claim.name, pods: waiting });
    metrics.count('dovetail_nodes_overdue_total', { nodepool: claim.pool.name });
    events.record({
      about: aboutClaim(claim),
      type: 'Warning',
      reason: 'InitializationTimeout',
      message,
    });
  }
}

/** A promise that was given since the node is overdue has an end, and is left. */
const isEndless = (cluster: Cluster, { value }: PromiseHolder, nowMs: number): boolean => {
  const live = livePromise(cluster, value.uid, nowMs);
  return live !== undefined && live.promise.untilMs === undefined;
};
