import type { NodeClaim } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeCreates,
  type KubeDeletes,
  KubeError,
  type KubeObject,
  type KubePatches,
  type KubeReads,
  kubeResources,
} from '@dovetail/core-ports';
import {
  type Change,
  changeGuarded,
  conditionObjects,
  type NewCondition,
} from '@dovetail/service-kit';

import { withClaimCondition } from './claim-conditions.js';
import { claimFrom, nodeFrom } from './readings.js';

/** The ports that claims and nodes are written through, and the mirror that keeps the answers. */
export type ClusterWriterDeps = {
  readonly kube: KubeReads & KubeCreates & KubePatches & KubeDeletes;
  readonly clock: Clock;
  readonly cluster: Cluster;
};

/**
 * Writes claims and nodes. Every change is guarded by the version that it was decided on, so that a
 * write by someone else in between is seen first. The answers go into the mirror at once: the next
 * decision counts them before the watch shows them.
 */
export class ClusterWriter {
  readonly #deps: ClusterWriterDeps;

  constructor(deps: ClusterWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Makes a claim. An existing one of this name is the same claim, because names are derived from
   * the admission. Rejects with KubeError.
   */
  async createClaim(object: KubeObject): Promise<NodeClaim> {
    const { kube } = this.#deps;
    try {
      return this.#keepClaim(await kube.create(kubeResources.nodeClaims, object));
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'already-exists') throw error;
      const { name } = object.metadata;
      const existing = await kube.get({ resource: kubeResources.nodeClaims, name });
      if (existing === undefined) throw error;
      return this.#keepClaim(existing);
    }
  }

  /**
   * Changes a claim's metadata or spec, or with `subresource` its status. Answers undefined when it
   * is gone, or another claim has taken its name. Rejects with KubeError.
   */
  changeClaim(
    claim: NodeClaim,
    change: (now: NodeClaim) => Change,
    options: { readonly subresource?: 'status' } = {},
  ): Promise<NodeClaim | undefined> {
    const { kube, cluster } = this.#deps;
    const held = cluster.claims.get(claim.uid) ?? claim;
    return changeGuarded({
      kube,
      ref: { resource: kubeResources.nodeClaims, name: claim.name, uid: claim.uid },
      first: { value: held, resourceVersion: held.resourceVersion },
      read: (object) => this.#keepClaim(object),
      change,
      ...options,
    });
  }

  /** As `changeClaim`, of the status. */
  changeClaimStatus(
    claim: NodeClaim,
    change: (now: NodeClaim) => Change,
  ): Promise<NodeClaim | undefined> {
    return this.changeClaim(claim, change, { subresource: 'status' });
  }

  /**
   * Sets one condition of a claim, with Ready following it, others that go with it, and further
   * fields of its status.
   */
  setClaimCondition(
    claim: NodeClaim,
    condition: NewCondition,
    fields: Readonly<Record<string, unknown>> = {},
    others: readonly NewCondition[] = [],
  ): Promise<NodeClaim | undefined> {
    const nowMs = this.#deps.clock.nowMs();
    return this.changeClaimStatus(claim, (now) => {
      const conditions = [...others, condition].reduce(
        (held, next) => withClaimCondition(held, next, nowMs),
        now.conditions,
      );
      return conditions === now.conditions
        ? undefined
        : { status: { ...fields, conditions: conditionObjects(conditions) } };
    });
  }

  /** Changes a node. Answers undefined when it is gone, or another node has taken its name. */
  changeNode(node: Node, change: (now: Node) => Change): Promise<Node | undefined> {
    const { kube, cluster } = this.#deps;
    const held = cluster.nodes.get(node.uid) ?? node;
    return changeGuarded({
      kube,
      ref: { resource: kubeResources.nodes, name: node.name, uid: node.uid },
      first: { value: held, resourceVersion: held.resourceVersion },
      read: (object) => this.#keepNode(object),
      change,
    });
  }

  /**
   * Asks for a claim's deletion. Its finalizer keeps it until it is certain that it has no
   * instance.
   */
  async deleteClaim(claim: NodeClaim): Promise<void> {
    await this.#deps.kube.delete(
      { resource: kubeResources.nodeClaims, name: claim.name },
      { uid: claim.uid },
    );
  }

  /** The node as the API server has it now. */
  async readNode(name: string): Promise<Node | undefined> {
    const object = await this.#deps.kube.get({ resource: kubeResources.nodes, name });
    return object === undefined ? undefined : this.#keepNode(object);
  }

  #keepClaim(object: KubeObject): NodeClaim {
    const claim = claimFrom(object);
    const { cluster } = this.#deps;
    // A patch that took the last finalizer off answers with an object that is gone already.
    if (claim.deletionMs !== undefined && claim.finalizers.length === 0)
      cluster.delete('claim', claim.uid);
    else cluster.set('claim', claim);
    return claim;
  }

  #keepNode(object: KubeObject): Node {
    const node = nodeFrom(object);
    this.#deps.cluster.set('node', node);
    return node;
  }
}
