import {
  annotations,
  type NodeClaim,
  parsePromise,
  type PromiseAnnotation,
  renderPromise,
} from '@dovetail/core-api';
import {
  type Cluster,
  hasEnded,
  isRetiring,
  isWaiting,
  type LivePromise,
} from '@dovetail/core-cluster';
import type { Node, Pod } from '@dovetail/core-kube-model';
import type { Reason } from '@dovetail/core-scheduling';
import { type Change, isTrue } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { AdmittedPlacement } from './judged.js';
import { mergedPromise, promiseWithout } from './promise-changes.js';
import { reason } from './reason.js';

/** The claim or node that carries a promise. */
export type PromiseHolder = LivePromise['holder'];

/** A claim or node, as far as its promise stands on it. */
type Annotated = { readonly annotations: Readonly<Record<string, string>> };
type PromiseChange = NonNullable<Change>;

/**
 * Writes promises on nodes and claims that exist. The promise is written first, then the node is
 * read live; if it is being retired by then, the promise is taken back. The reaper taints first and
 * then reads promises, so that one of the two always sees the other.
 */
export class PromiseWriter {
  readonly #cluster: Cluster;
  readonly #writer: ClusterWriter;
  readonly #nowMs: () => number;

  constructor(cluster: Cluster, writer: ClusterWriter, nowMs: () => number) {
    this.#cluster = cluster;
    this.#writer = writer;
    this.#nowMs = nowMs;
  }

  /**
   * Answers undefined once the promise is written, or why it is not kept. Rejects with KubeError.
   */
  async give(placement: AdmittedPlacement): Promise<Reason | undefined> {
    const { holder } = placement;
    const gone = reason(
      'node-gone',
      `${holder.kind === 'Node' ? 'node' : 'claim'} ${holder.name} is gone`,
      { node: holder.name },
    );
    if (holder.kind === 'Node') {
      const node = this.#cluster.nodes.get(holder.uid);
      const written =
        node === undefined
          ? undefined
          : await this.#writer.changeNode(node, (now) => this.#adding(now, placement.promise));
      if (written === undefined) return gone;
      // The answer is the node as of our write: a taint that is not on it comes after our promise.
      return isRetiring(written, this.#cluster.claimOfNode(written))
        ? this.#takeBack(placement, written, undefined)
        : undefined;
    }
    const claim = this.#cluster.claims.get(holder.uid);
    const written =
      claim === undefined
        ? undefined
        : await this.#writer.changeClaim(claim, (now) =>
            this.#adding(now, this.#lasting(now, placement.promise)),
          );
    if (written === undefined) return gone;
    const joined = this.#cluster.nodeOfClaim(written);
    const node = joined === undefined ? undefined : await this.#writer.readNode(joined.name);
    const retiring =
      written.deletionMs !== undefined || (node !== undefined && isRetiring(node, written));
    return retiring ? this.#takeBack(placement, node, written) : undefined;
  }

  /** Takes pods out of a promise, so that they are planned again. Rejects with KubeError. */
  async release(holder: PromiseHolder, pods: readonly Pod[]): Promise<void> {
    if (pods.length === 0) return;
    const removed = { podUids: pods.map(({ uid }) => uid), admission: '' };
    const change = (now: Annotated): PromiseChange | undefined => without(now, removed);
    if (holder.kind === 'Node') await this.#writer.changeNode(holder.value, change);
    else await this.#writer.changeClaim(holder.value, change);
  }

  /** Ends all that the holder promises. Rejects with KubeError. */
  async end(holder: PromiseHolder): Promise<void> {
    const change = (now: Annotated): PromiseChange | undefined =>
      now.annotations[annotations.promise] === undefined ? undefined : written(undefined);
    if (holder.kind === 'Node') await this.#writer.changeNode(holder.value, change);
    else await this.#writer.changeClaim(holder.value, change);
  }

  /** A promise that has ended binds no more, and what it kept must not end the new one. */
  #adding({ annotations: held }: Annotated, promise: PromiseAnnotation): PromiseChange {
    const { pods, nodes } = this.#cluster;
    const waits = (uid: string): boolean => {
      const pod = pods.get(uid);
      return pod !== undefined && isWaiting(pod);
    };
    const stands = parsePromise(held[annotations.promise]);
    const isNode = (uid: string): boolean => nodes.get(uid) !== undefined;
    const binding =
      stands === undefined || hasEnded(stands, this.#nowMs(), isNode) ? undefined : stands;
    return written(mergedPromise(binding, promise, waits));
  }

  /**
   * The promise as a claim carries it. Until the claim is initialized it has no end, because its
   * node may take longer to come than room on a node is kept. A node that is overdue may never.
   */
  #lasting(claim: NodeClaim, promise: PromiseAnnotation): PromiseAnnotation {
    const node = this.#cluster.nodeOfClaim(claim);
    const isOverdue = node?.annotations[annotations.overdue] !== undefined;
    if (isOverdue || isTrue(claim.conditions, 'Initialized')) return promise;
    const { untilMs: _untilMs, ...rest } = promise;
    return rest;
  }

  async #takeBack(
    placement: AdmittedPlacement,
    node: Node | undefined,
    claim: NodeClaim | undefined,
  ): Promise<Reason> {
    const change = (now: Annotated): PromiseChange | undefined => without(now, placement.promise);
    if (claim !== undefined) await this.#writer.changeClaim(claim, change);
    else if (node !== undefined) await this.#writer.changeNode(node, change);
    return reason('node-retiring', `${placement.holder.name} began to be retired`, {
      node: placement.holder.name,
    });
  }
}

/** The change that takes this out of the promise; undefined when there is none. */
function without(now: Annotated, removed: PromiseAnnotation): PromiseChange | undefined {
  const held = parsePromise(now.annotations[annotations.promise]);
  return held === undefined ? undefined : written(promiseWithout(held, removed));
}

const written = (promise: PromiseAnnotation | undefined): PromiseChange => ({
  metadata: {
    annotations: { [annotations.promise]: promise === undefined ? null : renderPromise(promise) },
  },
});
