import {
  annotations,
  type NodeClaim,
  parsePromise,
  type PromiseAnnotation,
  renderPromise,
} from '@dovetail/core-api';
import { type Cluster, isRetiring, isWaiting } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { Reason } from '@dovetail/core-scheduling';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { AdmittedPlacement } from './judged.js';
import { mergedPromise, promiseWithout } from './promise-changes.js';
import { reason } from './reason.js';

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
          : await this.#writer.changeNode(node, (now) =>
              this.#adding(now.annotations, placement.promise),
            );
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
            this.#adding(now.annotations, placement.promise),
          );
    if (written === undefined) return gone;
    const joined = this.#cluster.nodeOfClaim(written);
    const node = joined === undefined ? undefined : await this.#writer.readNode(joined.name);
    const retiring =
      written.deletionMs !== undefined || (node !== undefined && isRetiring(node, written));
    return retiring ? this.#takeBack(placement, node, written) : undefined;
  }

  #adding(
    held: Readonly<Record<string, string>>,
    promise: PromiseAnnotation,
  ): { readonly metadata: Readonly<Record<string, unknown>> } {
    const waits = (uid: string): boolean => {
      const pod = this.#cluster.pods.get(uid);
      return pod !== undefined && isWaiting(pod);
    };
    const merged = mergedPromise(
      parsePromise(held[annotations.promise]),
      promise,
      waits,
      this.#nowMs(),
    );
    return { metadata: { annotations: { [annotations.promise]: renderPromise(merged) } } };
  }

  async #takeBack(
    placement: AdmittedPlacement,
    node: Node | undefined,
    claim: NodeClaim | undefined,
  ): Promise<Reason> {
    const change = (
      held: Readonly<Record<string, string>>,
    ): { readonly metadata: Readonly<Record<string, unknown>> } | undefined => {
      const promise = parsePromise(held[annotations.promise]);
      if (promise === undefined) return undefined;
      const left = promiseWithout(promise, placement.promise);
      return {
        metadata: {
          annotations: { [annotations.promise]: left === undefined ? null : renderPromise(left) },
        },
      };
    };
    if (claim !== undefined)
      await this.#writer.changeClaim(claim, (now) => change(now.annotations));
    else if (node !== undefined)
      await this.#writer.changeNode(node, (now) => change(now.annotations));
    return reason('node-retiring', `${placement.holder.name} began to be retired`, {
      node: placement.holder.name,
    });
  }
}
