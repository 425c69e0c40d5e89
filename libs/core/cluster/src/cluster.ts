import {
  annotations,
  type NodeClaim,
  type NodeClass,
  type Pool,
  poolKey,
} from '@dovetail/core-api';
import {
  awaitedByNode,
  type CsiNode,
  type DaemonSet,
  type Namespace,
  type Node,
  type ParseFailure,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  type StorageClass,
  type VolumeAttachment,
} from '@dovetail/core-kube-model';
import type { KubeObject, KubeResource } from '@dovetail/core-ports';

import { instanceIdOf, isUnpaired } from './instance-id.js';
import { classKey, type ClusterKind, clusterKinds, type ClusterValue, nameOf } from './kinds.js';
import { PromiseIndex } from './promise-index.js';
import { type Stored, Table } from './table.js';

/** An object that the API server holds and that cannot be read. */
export type UnreadableObject = {
  readonly object: KubeObject;
  readonly resource: KubeResource;
  readonly failure: ParseFailure;
};

/**
 * One change of a Cluster. `before` and `after` are the readings of the object, if there are any.
 * UID and name are empty if the change is that a kind's first list is complete.
 */
export type ClusterChange = {
  readonly [K in ClusterKind]: {
    readonly kind: K;
    readonly uid: string;
    readonly name: string;
    readonly before?: ClusterValue[K];
    readonly after?: ClusterValue[K];
  };
}[ClusterKind];

/** Called on each change, synchronously, after the tables hold it. */
export type ClusterListener = (change: ClusterChange) => void;

/** The part of Table that does not depend on a kind's indexes. */
type Rows<T extends Stored> = {
  set(row: T): { readonly before?: T } | undefined;
  remove(uid: string): T | undefined;
  delete(uid: string): T | undefined;
  clear(): void;
  forgetVersions(): void;
  forgetVersion(uid: string): void;
};

/**
 * One process's mirror of the cluster. It has a table for each kind, claims paired with nodes, and
 * the promises that both carry. Launcher and reaper feed it from their own watches and the answers
 * to their own writes. The solver feeds it from the state feed, and simulate from manifests.
 */
export class Cluster {
  readonly pods = new Table<Pod, never, 'node' | 'awaitedBy' | 'daemonset'>(
    {},
    {
      node: (pod) => pod.nodeName,
      awaitedBy: awaitedByNode,
      daemonset: ({ owner }) => (owner?.kind === 'DaemonSet' ? owner.uid : undefined),
    },
  );
  readonly nodes = new Table<Node, 'name', 'providerId'>(
    { name: (node) => node.name },
    { providerId: (node) => node.providerId },
  );
  readonly claims = new Table<
    NodeClaim,
    'name',
    'providerId' | 'instance' | 'unpaired' | 'pool' | 'class' | 'node' | 'plan'
  >(
    { name: (claim) => claim.name },
    {
      providerId: (claim) => claim.providerId,
      instance: instanceIdOf,
      // One key for all claims without an instance.
      unpaired: (claim) => (isUnpaired(claim) ? 'unpaired' : undefined),
      pool: (claim) => poolKey(claim.pool),
      class: (claim) => classKey(claim.classRef),
      node: (claim) => claim.nodeName,
      // The plan that the claim is a bin of, from its admission mark `epoch.number/planId/bin`.
      plan: (claim) => claim.annotations[annotations.admission]?.split('/')[1],
    },
  );
  readonly pools = new Table<Pool, 'key', 'class'>(
    { key: (pool) => poolKey(pool.identity) },
    { class: (pool) => classKey(pool.classRef) },
  );
  readonly nodeClasses = new Table<NodeClass, 'key'>(
    { key: (nodeClass) => classKey(nodeClass.ref) },
    {},
  );
  readonly daemonSets = new Table<DaemonSet>({}, {});
  readonly namespaces = new Table<Namespace>({}, {});
  readonly persistentVolumes = new Table<PersistentVolume, 'name'>(
    { name: ({ name }) => name },
    {},
  );
  readonly persistentVolumeClaims = new Table<PersistentVolumeClaim, 'key'>(
    { key: (claim) => `${claim.namespace}/${claim.name}` },
    {},
  );
  readonly storageClasses = new Table<StorageClass, 'name'>({ name: ({ name }) => name }, {});
  readonly csiNodes = new Table<CsiNode, 'name'>({ name: ({ name }) => name }, {});
  readonly pdbs = new Table<PodDisruptionBudget, never, 'namespace'>(
    {},
    { namespace: (pdb) => pdb.namespace },
  );
  readonly attachments = new Table<VolumeAttachment, never, 'node'>(
    {},
    { node: (one) => one.nodeName },
  );

  /** The promises in the annotations of claims and nodes. */
  readonly promises = new PromiseIndex();

  readonly #tables: { readonly [K in ClusterKind]: Rows<ClusterValue[K]> } = {
    pod: this.pods,
    node: this.nodes,
    claim: this.claims,
    pool: this.pools,
    nodeclass: this.nodeClasses,
    daemonset: this.daemonSets,
    namespace: this.namespaces,
    pv: this.persistentVolumes,
    pvc: this.persistentVolumeClaims,
    storageclass: this.storageClasses,
    csinode: this.csiNodes,
    pdb: this.pdbs,
    attachment: this.attachments,
  };
  readonly #awaited: readonly ClusterKind[];
  readonly #synced = new Set<ClusterKind>();
  readonly #listeners = new Set<ClusterListener>();
  readonly #unreadable = new Map<string, UnreadableObject>();

  /** `awaited`: the kinds that its owner feeds; `synced()` waits for the first list of each. */
  constructor(awaited: readonly ClusterKind[] = clusterKinds) {
    this.#awaited = awaited;
  }

  /** Puts a reading; one that is older than the held one changes nothing. */
  set<K extends ClusterKind>(kind: K, value: ClusterValue[K]): void {
    const put = this.#tables[kind].set(value);
    if (put === undefined) return;
    if (kind === 'claim' || kind === 'node')
      this.promises.set(value.uid, (value as Node | NodeClaim).annotations[annotations.promise]);
    this.#publish({ kind, uid: value.uid, name: nameOf(value), ...put, after: value });
  }

  /** Puts a reading that is the newest whatever its version, as from a source in order. */
  replace<K extends ClusterKind>(kind: K, value: ClusterValue[K]): void {
    this.#tables[kind].forgetVersion(value.uid);
    this.set(kind, value);
  }

  /** The server was restored: its next readings of the kind count, whatever their versions. */
  forgetVersions(kind: ClusterKind): void {
    this.#tables[kind].forgetVersions();
  }

  /** Removes an object that is gone. Its UID never comes back. */
  delete(kind: ClusterKind, uid: string): void {
    this.#dropped(kind, this.#tables[kind].delete(uid));
  }

  /** Removes an object that cannot be used now and may be usable again. */
  forget(kind: ClusterKind, uid: string): void {
    this.#dropped(kind, this.#tables[kind].remove(uid));
  }

  /** Forgets every object, for a source that begins again. Listeners stay and are not called. */
  clear(): void {
    for (const table of Object.values(this.#tables)) table.clear();
    this.promises.clear();
    this.#unreadable.clear();
    this.#synced.clear();
  }

  /** Returns the objects that cannot be read, so that their status can say so. */
  unreadable(): readonly UnreadableObject[] {
    return [...this.#unreadable.values()];
  }

  /** Remembers that an object of the kind cannot be read. */
  markUnreadable(kind: ClusterKind, uid: string, found: UnreadableObject): void {
    this.#unreadable.set(uid, found);
    this.#publish({ kind, uid, name: found.object.metadata.name });
  }

  /** Forgets that an object could not be read, because it is readable again or gone. */
  clearUnreadable(uid: string): void {
    this.#unreadable.delete(uid);
  }

  /**
   * Notes that the first complete list of a kind has been read. Until then absence proves nothing.
   */
  markSynced(kind: ClusterKind): void {
    if (this.#synced.has(kind)) return;
    this.#synced.add(kind);
    this.#publish({ kind, uid: '', name: '' });
  }

  /** Whether the kind's first list is complete. */
  isSynced(kind: ClusterKind): boolean {
    return this.#synced.has(kind);
  }

  /** Whether the first list of each of these kinds is complete. */
  areSynced(...kinds: readonly ClusterKind[]): boolean {
    return kinds.every((kind) => this.#synced.has(kind));
  }

  /** Whether every awaited kind has been listed once. */
  synced(): boolean {
    return this.unsynced().length === 0;
  }

  /** The awaited kinds whose first list is not complete. */
  unsynced(): readonly ClusterKind[] {
    return this.#awaited.filter((kind) => !this.#synced.has(kind));
  }

  /** Calls `listener` on every change until the answer is called. */
  subscribe(listener: ClusterListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * The claim that a node came from: by provider ID (as Karpenter pairs them), else by its status.
   * Several claims may carry one provider ID, if one is a copy: the one that names the node counts.
   */
  claimOfNode(node: Node): NodeClaim | undefined {
    const { providerId, name } = node;
    const named = this.claims.by('node', name);
    const paired = providerId === undefined ? [] : this.claims.by('providerId', providerId);
    return paired.find((claim) => claim.nodeName === name) ?? paired[0] ?? named[0];
  }

  /**
   * The node that a claim became: by provider ID, else by the claim's status. Of several Nodes with
   * its provider ID it is the one that registered, as its status says.
   */
  nodeOfClaim(claim: NodeClaim): Node | undefined {
    const nodes = this.nodesOfClaim(claim);
    return nodes.find(({ name }) => name === claim.nodeName) ?? nodes[0];
  }

  /**
   * Every Node that carries a claim's provider ID, in order of UID; without any, the one that its
   * status names. Two are a fault that only a person can end: the host name of the machine has
   * changed, a Node was restored from a backup, or a kubelet carries the ID of another instance. It
   * is the same list as before if none of them changed.
   */
  nodesOfClaim({ providerId, nodeName }: NodeClaim): readonly Node[] {
    const paired = providerId === undefined ? [] : this.nodes.by('providerId', providerId);
    return paired.length > 0 || nodeName === undefined ? paired : this.nodes.by('name', nodeName);
  }

  #dropped(kind: ClusterKind, held: ClusterValue[ClusterKind] | undefined): void {
    if (held === undefined) return;
    if (kind === 'claim' || kind === 'node') this.promises.set(held.uid, undefined);
    this.#publish({ kind, uid: held.uid, name: nameOf(held), before: held });
  }

  /**
   * Takes the loose shape, because only its callers know that `before` and `after` are of the kind.
   */
  #publish(change: {
    readonly kind: ClusterKind;
    readonly uid: string;
    readonly name: string;
    readonly before?: unknown;
    readonly after?: unknown;
  }): void {
    for (const listener of this.#listeners) listener(change as ClusterChange);
  }
}
