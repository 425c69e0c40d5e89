import { annotations, parsePromise, poolKey, type NodeClaim, type Pool } from '@dovetail/core-api';
import { instanceIdOf, type NodeView } from '@dovetail/core-disruption';
import { isDaemonPod, isTerminal, selectorMatches, type Node, type Pod, type PodDisruptionBudget, type VolumeAttachment } from '@dovetail/core-kube-model';
import { Table } from './table.js';

/** The kinds of objects that the reaper watches. */
export const worldKinds = ['pod', 'node', 'claim', 'nodePool', 'provisioner', 'pdb', 'attachment'] as const;
export type WorldKind = (typeof worldKinds)[number];
export type WorldValue = {
  readonly pod: Pod; readonly node: Node; readonly claim: NodeClaim; readonly nodePool: Pool; readonly provisioner: Pool;
  readonly pdb: PodDisruptionBudget; readonly attachment: VolumeAttachment;
};

/** Told of every change, with the claims that it is about (by name). */
export type WorldListener = (kind: WorldKind, claimNames: readonly string[]) => void;

/** Whether a pod's coming, ending or going restarts a node's countdown: daemons do not (Karpenter's lastPodEventTime). */
function isPodEvent(before: Pod | undefined, after: Pod | undefined): boolean {
  const pod = after ?? before;
  if (pod === undefined || isDaemonPod(pod) || pod.mirror) return false;
  if (before === undefined || after === undefined) return true;
  return before.nodeName !== after.nodeName || isTerminal(before) !== isTerminal(after) || (before.deletionMs === undefined) !== (after.deletionMs === undefined);
}

/** What the reaper believes of the cluster: its own watches, never the bus. Decisions that end something read live again first. */
export class World {
  readonly pods = new Table<Pod, 'node'>({ node: (pod) => pod.nodeName });
  readonly nodes = new Table<Node, 'name' | 'providerId'>({ name: (node) => node.name, providerId: (node) => node.providerId });
  readonly claims = new Table<NodeClaim, 'name' | 'node' | 'providerId' | 'pool' | 'instance'>({
    name: (claim) => claim.name, node: (claim) => claim.nodeName, providerId: (claim) => claim.providerId, pool: (claim) => poolKey(claim.pool), instance: instanceIdOf,
  });
  readonly pools = new Table<Pool, 'key'>({ key: (pool) => poolKey(pool.identity) });
  readonly pdbs = new Table<PodDisruptionBudget, 'namespace'>({ namespace: (pdb) => pdb.namespace });
  readonly attachments = new Table<VolumeAttachment, 'node'>({ node: (attachment) => attachment.nodeName });

  readonly #synced = new Set<WorldKind>();
  readonly #listeners = new Set<WorldListener>();
  /** Claim name → when a pod last came or went, as seen here; ahead of what the claim's status says. */
  readonly #podEvents = new Map<string, number>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) { this.#nowMs = nowMs; }

  set<K extends WorldKind>(kind: K, value: WorldValue[K]): void {
    const before = this.#table(kind).set(value);
    if (before === 'stale') return;
    if (kind === 'pod') this.#podChanged(before as Pod | undefined, value as Pod);
    else this.#tell(kind, this.#claimsOf(kind, value));
  }

  delete(kind: WorldKind, uid: string): void {
    const before = this.#table(kind).delete(uid);
    if (before === undefined) return;
    if (kind === 'pod') this.#podChanged(before as Pod, undefined);
    else this.#tell(kind, this.#claimsOf(kind, before));
    if (kind === 'claim') this.#podEvents.delete((before as NodeClaim).name);
  }

  /** The first complete list of a kind has been seen; until then absence proves nothing. */
  markSynced(kind: WorldKind): void {
    if (this.#synced.has(kind)) return;
    this.#synced.add(kind);
    this.#tell(kind, []);
  }

  synced(): boolean { return worldKinds.every((kind) => this.#synced.has(kind)); }
  unsynced(): readonly WorldKind[] { return worldKinds.filter((kind) => !this.#synced.has(kind)); }

  subscribe(listener: WorldListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  nodeOfClaim(claim: NodeClaim): Node | undefined {
    return this.nodes.one('providerId', claim.providerId) ?? this.nodes.one('name', claim.nodeName);
  }

  claimOfNode(node: Node): NodeClaim | undefined {
    return this.claims.one('providerId', node.providerId) ?? this.claims.one('node', node.name);
  }

  /** A claim with its node, pods and pool. The last pod event is the later of what its status says and what was seen here. */
  viewOf(claim: NodeClaim): NodeView {
    const node = this.nodeOfClaim(claim);
    const pool = this.pools.one('key', poolKey(claim.pool));
    const seenMs = this.#podEvents.get(claim.name);
    const known = seenMs === undefined || seenMs <= (claim.lastPodEventMs ?? 0) ? claim : { ...claim, lastPodEventMs: seenMs };
    return { claim: known, pods: node === undefined ? [] : this.pods.by('node', node.name), ...(node === undefined ? {} : { node }), ...(pool === undefined ? {} : { pool }) };
  }

  views(): readonly NodeView[] { return [...this.claims.values()].map((claim) => this.viewOf(claim)); }

  readonly budgetsOf = (pod: Pod): readonly PodDisruptionBudget[] => this.pdbs.by('namespace', pod.namespace).filter((pdb) => selectorMatches(pdb.selector, pod.labels));

  /** Claims whose last pod event is later than their status says, with its time. */
  podEventsToWrite(): readonly { readonly claim: NodeClaim; readonly atMs: number }[] {
    return [...this.#podEvents].flatMap(([name, atMs]) => {
      const claim = this.claims.one('name', name);
      // Times in the API have whole seconds: what was written reads back up to a second earlier.
      return claim === undefined || atMs - (claim.lastPodEventMs ?? 0) < 1000 ? [] : [{ claim, atMs }];
    });
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined): void {
    const names = [...new Set([before?.nodeName, after?.nodeName])].flatMap((name) => {
      const node = this.nodes.one('name', name);
      const claim = node === undefined ? undefined : this.claimOfNode(node);
      return claim === undefined ? [] : [claim.name];
    });
    // What the first list shows has not just happened.
    if (this.#synced.has('pod') && isPodEvent(before, after)) for (const name of names) this.#podEvents.set(name, this.#nowMs());
    this.#tell('pod', names);
  }

  #claimsOf(kind: WorldKind, value: unknown): readonly string[] {
    switch (kind) {
      case 'claim': return [(value as NodeClaim).name, ...this.#replacedBy(value as NodeClaim)];
      case 'node': return [this.claimOfNode(value as Node)?.name ?? []].flat();
      case 'attachment': {
        const node = this.nodes.one('name', (value as VolumeAttachment).nodeName);
        return node === undefined ? [] : [this.claimOfNode(node)?.name ?? []].flat();
      }
      case 'nodePool': case 'provisioner': return this.claims.by('pool', poolKey((value as Pool).identity)).map(({ name }) => name);
      case 'pod': case 'pdb': return [];
    }
  }

  /** The claim whose node this one replaces: it waits for it. */
  #replacedBy(claim: NodeClaim): readonly string[] {
    const replaces = parsePromise(claim.annotations[annotations.promise])?.replaces;
    const node = replaces === undefined ? undefined : this.nodes.get(replaces.nodeUid);
    const replaced = node === undefined ? undefined : this.claimOfNode(node);
    return replaced === undefined ? [] : [replaced.name];
  }

  #table(kind: WorldKind): Table<WorldValue[WorldKind], string> {
    const tables = { pod: this.pods, node: this.nodes, claim: this.claims, nodePool: this.pools, provisioner: this.pools, pdb: this.pdbs, attachment: this.attachments };
    return tables[kind] as unknown as Table<WorldValue[WorldKind], string>;
  }

  #tell(kind: WorldKind, claimNames: readonly string[]): void {
    for (const listener of this.#listeners) listener(kind, claimNames);
  }
}
