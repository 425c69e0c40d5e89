import { type NodeClaim, type Pool, poolKey } from '@dovetail/core-api';
import {
  evictionCost,
  isReschedulable,
  isTerminal,
  type Node,
  type Pod,
} from '@dovetail/core-kube-model';

import { type FleetNode, fleetNodeOf, type Use } from './fleet-node.js';

/** A pod, reduced to what it takes of its node. A cluster has many. */
export type PodUse = Use & {
  /** Undefined: it waits for a node. */
  readonly nodeName: string | undefined;
};

/** An object of one of the kinds that a fleet knows, by its UID. */
export type FleetObject =
  | { readonly kind: 'claim'; readonly uid: string; readonly claim: NodeClaim }
  | { readonly kind: 'node'; readonly uid: string; readonly node: Node }
  | { readonly kind: 'pool'; readonly uid: string; readonly pool: Pool }
  | { readonly kind: 'pod'; readonly uid: string; readonly pod: PodUse };

/** A kind of objects that a fleet knows. */
export type FleetKind = FleetObject['kind'];

/** The use that a pod makes of its node. Undefined: it has ended, and counts for nothing. */
export function podUseOf(pod: Pod): PodUse | undefined {
  if (isTerminal(pod)) return undefined;
  const { cpu = 0, memory = 0 } = pod.requests;
  const moves = isReschedulable(pod) && evictionCost(pod) > 0;
  return { nodeName: pod.nodeName, cpu, memory, pods: 1, moving: moves ? 1 : 0 };
}

const nothing: Use = { cpu: 0, memory: 0, pods: 0, moving: 0 };

const added = (a: Use, b: Use, sign: 1 | -1): Use => ({
  cpu: a.cpu + sign * b.cpu,
  memory: a.memory + sign * b.memory,
  pods: a.pods + sign * b.pods,
  moving: a.moving + sign * b.moving,
});

/**
 * Claims with their nodes, pools and pods. The use of each node is kept as a sum, so that a look at
 * thousands of nodes passes over no pod.
 */
export class Fleet {
  readonly #claims = new Map<string, NodeClaim>();
  readonly #nodes = new Map<string, Node>();
  readonly #nodeNames = new Map<string, string>();
  readonly #pools = new Map<string, Pool>();
  readonly #pods = new Map<string, PodUse>();
  readonly #used = new Map<string, Use>();

  /** Takes an object as it is now. */
  set(object: FleetObject): void {
    switch (object.kind) {
      case 'claim':
        this.#claims.set(object.uid, object.claim);
        return;
      case 'pool':
        this.#pools.set(object.uid, object.pool);
        return;
      case 'node':
        this.#nodes.set(object.node.name, object.node);
        this.#nodeNames.set(object.uid, object.node.name);
        return;
      case 'pod':
        this.#dropPod(object.uid);
        this.#pods.set(object.uid, object.pod);
        this.#count(object.pod, 1);
    }
  }

  /** Forgets an object that is gone, or counts for nothing any more. */
  drop(kind: FleetKind, uid: string): void {
    if (kind === 'claim') this.#claims.delete(uid);
    if (kind === 'pool') this.#pools.delete(uid);
    if (kind === 'pod') this.#dropPod(uid);
    if (kind !== 'node') return;
    const name = this.#nodeNames.get(uid) ?? '';
    this.#nodeNames.delete(uid);
    // A node of the same name may have come meanwhile.
    if (this.#nodes.get(name)?.uid === uid) this.#nodes.delete(name);
  }

  /** Forgets all objects of a kind, before they are listed anew. */
  clear(kind: FleetKind): void {
    const uids = { claim: this.#claims, node: this.#nodeNames, pool: this.#pools, pod: this.#pods }[
      kind
    ];
    for (const uid of [...uids.keys()]) this.drop(kind, uid);
  }

  /** Pods that wait for a node. */
  waiting(): number {
    return (this.#used.get('') ?? nothing).pods;
  }

  /** The pools, by their keys, in no order. */
  pools(): readonly string[] {
    return [...this.#pools.values()].map(({ identity }) => poolKey(identity));
  }

  /** The nodes, in no order. */
  nodes(): readonly FleetNode[] {
    const pools = new Map([...this.#pools.values()].map((pool) => [poolKey(pool.identity), pool]));
    return [...this.#claims.values()].map((claim) => {
      const node = this.#nodes.get(claim.nodeName ?? '');
      const use = this.#used.get(node?.name ?? claim.name) ?? nothing;
      return fleetNodeOf({ claim, node, pool: pools.get(poolKey(claim.pool)), use });
    });
  }

  #dropPod(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#pods.delete(uid);
    this.#count(pod, -1);
  }

  #count(pod: PodUse, sign: 1 | -1): void {
    const name = pod.nodeName ?? '';
    const use = added(this.#used.get(name) ?? nothing, pod, sign);
    if (use.pods === 0) this.#used.delete(name);
    else this.#used.set(name, use);
  }
}
