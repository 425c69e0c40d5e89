import type { NodeClaim } from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';
import { KubeError, kubeResources, type KubeApi, type KubeObject, type KubeResource, type Patch } from '@dovetail/core-ports';
import { claimFrom, nodeFrom } from './parsing.js';
import type { World } from './world.js';

/** A merge patch without `metadata.resourceVersion`, which the writer adds. Undefined: nothing to change. */
export type Change = { readonly metadata?: Readonly<Record<string, unknown>>; readonly [field: string]: unknown } | undefined;

const triesMax = 6;

/**
 * Writes claims and nodes. Every write is guarded by the version that its decision was made on: whoever wrote in between is seen
 * first. The answers go into the world at once, so that the next decision counts them before the watch tells.
 */
export class Writer {
  readonly #kube: KubeApi;
  readonly #world: World;

  constructor(kube: KubeApi, world: World) { this.#kube = kube; this.#world = world; }

  /** Makes a claim. One of this name that is there already is the same claim: names are derived from the admission. */
  async createClaim(object: KubeObject): Promise<NodeClaim> {
    try {
      return this.#keepClaim(await this.#kube.create(kubeResources.nodeClaims, object));
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'already-exists') throw error;
      const there = await this.#kube.get({ resource: kubeResources.nodeClaims, name: object.metadata.name });
      if (there === undefined) throw error;
      return this.#keepClaim(there);
    }
  }

  /** Changes a claim's metadata or spec. Undefined when it is gone, or another of its name has taken its place. */
  changeClaim(claim: NodeClaim, change: (now: NodeClaim) => Change): Promise<NodeClaim | undefined> {
    return this.#change(kubeResources.nodeClaims, this.#world.claims.get(claim.uid) ?? claim, change, (object) => this.#keepClaim(object));
  }

  changeClaimStatus(claim: NodeClaim, change: (now: NodeClaim) => Change): Promise<NodeClaim | undefined> {
    return this.#change(kubeResources.nodeClaims, this.#world.claims.get(claim.uid) ?? claim, change, (object) => this.#keepClaim(object), 'status');
  }

  changeNode(node: Node, change: (now: Node) => Change): Promise<Node | undefined> {
    return this.#change(kubeResources.nodes, this.#world.nodes.get(node.uid) ?? node, change, (object) => this.#keepNode(object));
  }

  /** Asks for a claim's deletion; its finalizer keeps it until its instance is gone, or is known never to have been. */
  async deleteClaim(claim: NodeClaim): Promise<void> {
    await this.#kube.delete({ resource: kubeResources.nodeClaims, name: claim.name }, { uid: claim.uid });
  }

  /** The node as the API server has it now. */
  async readNode(name: string): Promise<Node | undefined> {
    const object = await this.#kube.get({ resource: kubeResources.nodes, name });
    return object === undefined ? undefined : this.#keepNode(object);
  }

  async readClaim(name: string): Promise<NodeClaim | undefined> {
    const object = await this.#kube.get({ resource: kubeResources.nodeClaims, name });
    return object === undefined ? undefined : this.#keepClaim(object);
  }

  async #change<T extends { readonly uid: string; readonly name: string; readonly resourceVersion: string }>(
    resource: KubeResource, first: T, change: (now: T) => Change, keep: (object: KubeObject) => T, subresource?: 'status',
  ): Promise<T | undefined> {
    let now: T | undefined = first;
    for (let tries = 1; ; tries += 1) {
      const body = change(now);
      if (body === undefined) return now;
      const guarded = { ...body, metadata: { ...body.metadata, resourceVersion: now.resourceVersion } };
      try {
        return keep(await this.#patch(resource, now.name, { type: 'merge', body: guarded }, subresource));
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.code === 'not-found') return undefined;
        if (error.code !== 'conflict' || tries >= triesMax) throw error;
        const object = await this.#kube.get({ resource, name: first.name });
        now = object === undefined ? undefined : keep(object);
        if (now === undefined || now.uid !== first.uid) return undefined;
      }
    }
  }

  #patch(resource: KubeResource, name: string, patch: Patch, subresource?: 'status'): Promise<KubeObject> {
    return this.#kube.patch({ resource, name }, patch, subresource === undefined ? {} : { subresource });
  }

  #keepClaim(object: KubeObject): NodeClaim {
    const claim = claimFrom(object);
    // A patch that took the last finalizer off answers with an object that is gone already.
    if (claim.deletionMs !== undefined && claim.finalizers.length === 0) this.#world.delete('claim', claim.uid);
    else this.#world.set('claim', claim);
    return claim;
  }

  #keepNode(object: KubeObject): Node {
    const node = nodeFrom(object);
    this.#world.set('node', node);
    return node;
  }
}
