import { type NodeClaim, nodeClaimOf, nodePoolOf, type Pool, poolKey } from '@dovetail/core-api';
import {
  evictionCost,
  isReschedulable,
  isTerminal,
  type Node,
  nodeOf,
  podOf,
} from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

import { type TopNode, topNodeOf, type Use } from './node.js';

/** A pod, reduced to what it takes of its node. A cluster has many. */
type PodUse = Use & {
  /** Undefined: it waits for a node. */
  readonly nodeName: string | undefined;
};

/** An object of one of the kinds that a fleet knows, by its UID. */
export type Known =
  | { readonly kind: 'claim'; readonly uid: string; readonly claim: NodeClaim }
  | { readonly kind: 'node'; readonly uid: string; readonly node: Node }
  | { readonly kind: 'pool'; readonly uid: string; readonly pool: Pool }
  | { readonly kind: 'pod'; readonly uid: string; readonly pod: PodUse };

/** A kind of objects that a fleet knows. */
export type KnownKind = Known['kind'];

/**
 * Reads an object of the API. Undefined: it cannot be read, or counts for nothing, such as a pod
 * that has ended.
 */
export const knownOf: Readonly<Record<KnownKind, (object: KubeObject) => Known | undefined>> = {
  claim: (object) => {
    const one = nodeClaimOf(object);
    return one.ok ? { kind: 'claim', uid: one.value.uid, claim: one.value } : undefined;
  },
  node: (object) => {
    const one = nodeOf(object);
    return one.ok ? { kind: 'node', uid: one.value.uid, node: one.value } : undefined;
  },
  pool: (object) => {
    const one = nodePoolOf(object);
    return one.ok ? { kind: 'pool', uid: object.metadata.uid ?? '', pool: one.value } : undefined;
  },
  pod: (object) => {
    const one = podOf(object);
    if (!one.ok || isTerminal(one.value)) return undefined;
    const { uid, nodeName, requests } = one.value;
    const moves = isReschedulable(one.value) && evictionCost(one.value) > 0;
    const { cpu = 0, memory = 0 } = requests;
    return { kind: 'pod', uid, pod: { nodeName, cpu, memory, pods: 1, moving: moves ? 1 : 0 } };
  },
};

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
  set(known: Known): void {
    switch (known.kind) {
      case 'claim':
        this.#claims.set(known.uid, known.claim);
        return;
      case 'pool':
        this.#pools.set(known.uid, known.pool);
        return;
      case 'node':
        this.#nodes.set(known.node.name, known.node);
        this.#nodeNames.set(known.uid, known.node.name);
        return;
      case 'pod':
        this.#dropPod(known.uid);
        this.#pods.set(known.uid, known.pod);
        this.#count(known.pod, 1);
    }
  }

  /** Forgets an object that is gone, or counts for nothing any more. */
  drop(kind: KnownKind, uid: string): void {
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
  clear(kind: KnownKind): void {
    const uids = { claim: this.#claims, node: this.#nodeNames, pool: this.#pools, pod: this.#pods }[
      kind
    ];
    for (const uid of [...uids.keys()]) this.drop(kind, uid);
  }

  /** Pods that wait for a node. */
  waiting(): number {
    return (this.#used.get('') ?? nothing).pods;
  }

  /** The nodes as they are at a time, in no order. */
  nodes(nowMs: number): readonly TopNode[] {
    const pools = new Map([...this.#pools.values()].map((pool) => [poolKey(pool.identity), pool]));
    return [...this.#claims.values()].map((claim) => {
      const node = this.#nodes.get(claim.nodeName ?? '');
      const use = this.#used.get(node?.name ?? claim.name) ?? nothing;
      return topNodeOf({ claim, node, pool: pools.get(poolKey(claim.pool)), use }, nowMs);
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
