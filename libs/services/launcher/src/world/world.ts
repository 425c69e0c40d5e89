import { annotations, parsePromise, type NodeClaim, type NodeClass, type Pool, type PromiseAnnotation } from '@dovetail/core-api';
import type { CsiNode, DaemonSet, Namespace, Node, ParseFailure, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '@dovetail/core-kube-model';
import type { KubeObject, KubeResource } from '@dovetail/core-ports';
import { Table } from './table.js';

/** The kinds of objects that the launcher reads, each by a watch of its own. */
export const worldKinds = ['pod', 'node', 'claim', 'pool', 'nodeclass', 'daemonset', 'namespace', 'pv', 'pvc', 'storageclass', 'csinode'] as const;
export type WorldKind = (typeof worldKinds)[number];

export type WorldValue = {
  readonly pod: Pod; readonly node: Node; readonly claim: NodeClaim; readonly pool: PoolRow; readonly nodeclass: NodeClassRow; readonly daemonset: DaemonSet;
  readonly namespace: Namespace; readonly pv: PersistentVolume; readonly pvc: PersistentVolumeClaim; readonly storageclass: StorageClass; readonly csinode: CsiNode;
};

/** Pools and classes as rows: their names are in their identities. */
export type PoolRow = Pool & { readonly name: string };
export type NodeClassRow = NodeClass & { readonly name: string };
export const poolRow = (pool: Pool): PoolRow => ({ ...pool, name: pool.identity.name });
export const nodeClassRow = (nodeClass: NodeClass): NodeClassRow => ({ ...nodeClass, name: nodeClass.ref.name });

/** An object that the API server holds and that cannot be read. */
export type MalformedRow = { readonly object: KubeObject; readonly resource: KubeResource; readonly failure: ParseFailure };

export type WorldListener = (kind: WorldKind, uid: string, name: string) => void;

/** `EC2NodeClass/default`: one string for a class reference. */
export const classKey = (ref: { readonly kind: string; readonly name: string }): string => `${ref.kind}/${ref.name}`;
const poolKeyOf = (pool: { readonly identity: { readonly kind: string; readonly name: string } }): string => `${pool.identity.kind}/${pool.identity.name}`;

/** What the launcher believes of the cluster, from its own watches and the answers to its own writes; never from the bus. */
export class World {
  readonly pods = new Table<Pod, 'node'>({ node: (pod) => pod.nodeName });
  readonly nodes = new Table<Node, 'name' | 'providerId'>({ name: (node) => node.name, providerId: (node) => node.providerId });
  readonly claims = new Table<NodeClaim, 'name' | 'providerId' | 'pool' | 'class' | 'node' | 'plan'>({
    name: (claim) => claim.name,
    providerId: (claim) => claim.providerId,
    pool: (claim) => `${claim.pool.kind}/${claim.pool.name}`,
    class: (claim) => classKey(claim.classRef),
    node: (claim) => claim.nodeName,
    // The plan whose bin the claim is, from its admission mark `epoch.number/planId/bin`.
    plan: (claim) => claim.annotations[annotations.admission]?.split('/')[1],
  });
  readonly pools = new Table<PoolRow, 'key' | 'class'>({ key: poolKeyOf, class: (pool) => classKey(pool.classRef) });
  readonly nodeClasses = new Table<NodeClassRow, 'key'>({ key: (nodeClass) => classKey(nodeClass.ref) });
  readonly daemonSets = new Table<DaemonSet>({});
  readonly namespaces = new Table<Namespace>({});
  readonly persistentVolumes = new Table<PersistentVolume, 'name'>({ name: (volume) => volume.name });
  readonly persistentVolumeClaims = new Table<PersistentVolumeClaim, 'key'>({ key: (claim) => `${claim.namespace}/${claim.name}` });
  readonly storageClasses = new Table<StorageClass, 'name'>({ name: (storageClass) => storageClass.name });
  readonly csiNodes = new Table<CsiNode, 'name'>({ name: (csiNode) => csiNode.name });

  readonly #synced = new Set<WorldKind>();
  readonly #listeners = new Set<WorldListener>();
  readonly #promises = new Map<string, PromiseAnnotation>();
  readonly #malformed = new Map<string, MalformedRow>();
  readonly #holdersOf = new Map<string, Set<string>>();

  /** Puts a reading; an older one than is held changes nothing. */
  set<K extends WorldKind>(kind: K, value: WorldValue[K]): void {
    const table = this.#table(kind);
    if (!table.set(value)) return;
    if (kind === 'claim' || kind === 'node') this.#promise(value.uid, (value as { readonly annotations: Readonly<Record<string, string>> }).annotations[annotations.promise]);
    this.#tell(kind, value.uid, value.name);
  }

  /** The object is gone; its UID never comes back. */
  delete(kind: WorldKind, uid: string): void { this.#dropped(kind, uid, this.#table(kind).delete(uid)); }

  /** The object cannot be used now, and may be again. */
  forget(kind: WorldKind, uid: string): void { this.#dropped(kind, uid, this.#table(kind).remove(uid)); }

  /** Objects of a kind that cannot be read, for their status to say so. */
  malformed(): readonly MalformedRow[] { return [...this.#malformed.values()]; }
  markMalformed(uid: string, row: MalformedRow): void {
    this.#malformed.set(uid, row);
    this.#tell('pool', uid, row.object.metadata.name);
  }
  clearMalformed(uid: string): void { this.#malformed.delete(uid); }

  #dropped(kind: WorldKind, uid: string, held: { readonly name: string } | undefined): void {
    if (held === undefined) return;
    if (kind === 'claim' || kind === 'node') this.#promise(uid, undefined);
    this.#tell(kind, uid, held.name);
  }

  /** The first complete list of a kind has been seen; until then absence proves nothing. */
  markSynced(kind: WorldKind): void {
    if (this.#synced.has(kind)) return;
    this.#synced.add(kind);
    this.#tell(kind, '', '');
  }

  synced(): boolean { return worldKinds.every((kind) => this.#synced.has(kind)); }
  unsynced(): readonly WorldKind[] { return worldKinds.filter((kind) => !this.#synced.has(kind)); }

  /** Calls on every change until the answer is called. */
  subscribe(listener: WorldListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The promise that a claim or node carries, whether it still binds or not. */
  promiseOf(holderUid: string): PromiseAnnotation | undefined { return this.#promises.get(holderUid); }
  /** UIDs of everything that carries a promise. */
  promiseHolders(): Iterable<string> { return this.#promises.keys(); }
  /** UIDs of the claims and nodes whose promise names the pod, in order. */
  holdersOf(podUid: string): readonly string[] { return [...(this.#holdersOf.get(podUid) ?? [])].sort(); }

  /** The claim that a node came from: by provider ID, or by what the claim's status says. */
  claimOfNode(node: Node): NodeClaim | undefined {
    return (node.providerId === undefined ? undefined : this.claims.one('providerId', node.providerId)) ?? this.claims.one('node', node.name);
  }

  nodeOfClaim(claim: NodeClaim): Node | undefined {
    return (claim.providerId === undefined ? undefined : this.nodes.one('providerId', claim.providerId))
      ?? (claim.nodeName === undefined ? undefined : this.nodes.one('name', claim.nodeName));
  }

  #table(kind: WorldKind): { set(value: unknown): boolean; delete(uid: string): { readonly name: string } | undefined; remove(uid: string): { readonly name: string } | undefined } {
    const tables = {
      pod: this.pods, node: this.nodes, claim: this.claims, pool: this.pools, nodeclass: this.nodeClasses, daemonset: this.daemonSets, namespace: this.namespaces,
      pv: this.persistentVolumes, pvc: this.persistentVolumeClaims, storageclass: this.storageClasses, csinode: this.csiNodes,
    };
    return tables[kind];
  }

  #promise(holderUid: string, text: string | undefined): void {
    for (const podUid of this.#promises.get(holderUid)?.podUids ?? []) {
      const holders = this.#holdersOf.get(podUid);
      holders?.delete(holderUid);
      if (holders?.size === 0) this.#holdersOf.delete(podUid);
    }
    const promise = parsePromise(text);
    if (promise === undefined) { this.#promises.delete(holderUid); return; }
    this.#promises.set(holderUid, promise);
    for (const podUid of promise.podUids) this.#holdersOf.set(podUid, (this.#holdersOf.get(podUid) ?? new Set()).add(holderUid));
  }

  #tell(kind: WorldKind, uid: string, name: string): void {
    for (const listener of this.#listeners) listener(kind, uid, name);
  }
}
