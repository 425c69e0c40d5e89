import {
  annotations,
  type NodeClaim,
  type NodePrice,
  parsePromise,
  type Pool,
  poolKey,
} from '@dovetail/core-api';
import {
  Cluster,
  type ClusterChange,
  type ClusterKind,
  isRetiring,
  isStatusChange,
  roomFor,
} from '@dovetail/core-cluster';
import {
  conditionTrueSinceMs,
  type NodeHealth,
  type NodeView,
  type PodRoom,
  type RepairMethod,
} from '@dovetail/core-disruption';
import {
  isDaemonPod,
  isTerminal,
  type Node,
  type Pod,
  type PodDisruptionBudget,
} from '@dovetail/core-kube-model';

import { BudgetsOfPods } from './budgets-of-pods.js';
import { PresentPrices } from './present-prices.js';
import { RefusedPlans } from './refused-plans.js';
import { UnhealthyNodes } from './unhealthy-nodes.js';

/** The kinds of objects that the reaper watches. */
export type ReaperKind = Extract<
  ClusterKind,
  'pod' | 'node' | 'claim' | 'pool' | 'pdb' | 'attachment'
>;
const reaperKinds: readonly ReaperKind[] = ['pod', 'node', 'claim', 'pool', 'pdb', 'attachment'];

/** The parts of a view, beside its claim: the same parts give the same view. */
type Seen = readonly [
  nodes: readonly Node[],
  pool: Pool | undefined,
  pods: readonly Pod[],
  podEventMs: number | undefined,
  pricesRevision: number,
];

const noPods: readonly Pod[] = [];

/** Checks of EC2 that were not read for longer count no more: they are read each minute. */
const failingChecksMs = 600_000;

/** Times in the API have whole seconds: a written time reads back up to a second earlier. */
const apiTimeMs = 1_000;

/**
 * Whether a pod's coming, ending or going restarts a node's countdown: daemons do not (Karpenter's
 * lastPodEventTime).
 */
function isPodEvent(before: Pod | undefined, after: Pod | undefined): boolean {
  const pod = after ?? before;
  if (pod === undefined || isDaemonPod(pod) || pod.mirror) return false;
  if (before === undefined || after === undefined) return true;
  return (
    before.nodeName !== after.nodeName ||
    isTerminal(before) !== isTerminal(after) ||
    (before.deletionMs === undefined) !== (after.deletionMs === undefined)
  );
}

/**
 * The cluster as the reaper's own watches show it, never the bus, with the claims that each change
 * is about. Decisions that end something read live again first.
 */
export class ReaperCluster extends Cluster {
  /** When a pod last came or went, by claim name, as seen here; ahead of the claim's status. */
  readonly #podEvents = new Map<string, number>();
  /** Keys of pools that are there and cannot be read, by UID. */
  readonly #unreadablePools = new Map<string, string>();
  /** When each terminating pod was first seen so, by UID. */
  readonly #endingPods = new Map<string, number>();
  /** The nodes that are being retired and are not asked to go yet, by UID. */
  readonly #retiring = new Set<string>();
  /** The views as they were last asked for: a pass over all nodes finds most of them unchanged. */
  readonly #views = new WeakMap<NodeClaim, { readonly seen: Seen; readonly view: NodeView }>();
  /** The nodes that repair may end. */
  readonly unhealthy: UnhealthyNodes;
  /** The prices of offerings, as the launcher last read them. */
  readonly prices = new PresentPrices();
  /** The plans that the launcher has refused. */
  readonly refusedPlans = new RefusedPlans();
  /** The claims whose instance fails EC2's checks, as they were last read. */
  #failingChecks = { claimUids: new Set<string>() as ReadonlySet<string>, untilMs: -Infinity };
  readonly #budgets: BudgetsOfPods;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, repairMethod: RepairMethod) {
    super(reaperKinds);
    this.unhealthy = new UnhealthyNodes(repairMethod);
    this.#nowMs = nowMs;
    this.#budgets = new BudgetsOfPods(this);
    this.subscribe((change) => {
      this.#noteEnding(change);
      this.#noteRetiring(change);
      this.#notePodEvent(change);
    });
  }

  /**
   * Calls on every change with the names of the claims that it is about, until the answer is
   * called.
   */
  subscribeClaims(listener: (claimNames: readonly string[]) => void): () => void {
    return this.subscribe((change) => listener(this.#claimsOf(change)));
  }

  /**
   * Whether all that commands are judged by is known. Attachments are not: only the end of a node
   * that goes already waits for them.
   */
  knowsForCommands(): boolean {
    return this.areSynced('claim', 'node', 'pod', 'pool', 'pdb');
  }

  /**
   * A claim with its node, pods and pool. The last pod event is the latest of its status, what was
   * seen here, and the creation of a pod that came while no reaper watched.
   */
  viewOf(claim: NodeClaim): NodeView {
    const node = this.nodeOfClaim(claim);
    const seen: Seen = [
      this.nodesOfClaim(claim),
      this.pools.one('key', poolKey(claim.pool)),
      node === undefined ? noPods : this.pods.by('node', node.name),
      this.#podEvents.get(claim.name),
      this.prices.revision,
    ];
    const held = this.#views.get(claim);
    if (held?.seen.every((part, index) => part === seen[index]) === true) return held.view;
    const view = this.#viewFrom(claim, node, seen);
    this.#views.set(claim, { seen, view });
    return view;
  }

  #viewFrom(claim: NodeClaim, node: Node | undefined, [nodes, pool, pods]: Seen): NodeView {
    const lastPodEventMs = this.#lastPodEventMs(claim, pods);
    // An offering that no class names any more has no present price, and that of its launch is old.
    const unnamed = this.prices.areKnown ? 0 : undefined;
    const priceMicrosPerHour = this.prices.of({ ...claim.labels, ...node?.labels }) ?? unnamed;
    return {
      claim: lastPodEventMs === undefined ? claim : { ...claim, lastPodEventMs },
      pods,
      ...(node === undefined ? {} : { node }),
      ...(nodes.length > 1 ? { duplicates: nodes.map(({ name }) => name) } : {}),
      ...(pool === undefined ? {} : { pool }),
      ...(priceMicrosPerHour === undefined ? {} : { priceMicrosPerHour }),
    };
  }

  /** The price of a claim's offering now. Undefined: it is not known. */
  priceNow(claim: NodeClaim): NodePrice | undefined {
    return this.prices.priceOf({ ...claim.labels, ...this.nodeOfClaim(claim)?.labels });
  }

  /** The view of a node, or of a claim whose node has not joined, by its UID. */
  viewOfUid(uid: string): NodeView | undefined {
    const node = this.nodes.get(uid);
    const claim = node === undefined ? this.claims.get(uid) : this.claimOfNode(node);
    return claim === undefined ? undefined : this.viewOf(claim);
  }

  /** The last pod event that is known of, if it is later than the claim's status says. */
  #lastPodEventMs(claim: NodeClaim, pods: readonly Pod[]): number | undefined {
    const writtenMs = claim.lastPodEventMs ?? 0;
    const seenMs = this.#podEvents.get(claim.name) ?? 0;
    // Pods that the node was bought for are older than it. They do not restart its time.
    const sinceMs = Math.max(writtenMs, conditionTrueSinceMs(claim, 'Initialized') ?? Infinity);
    const cameMs = pods
      .filter((pod) => isPodEvent(undefined, pod) && pod.createdMs > sinceMs)
      .reduce((latest, { createdMs }) => Math.max(latest, createdMs), 0);
    const latestMs = Math.max(seenMs, cameMs);
    return latestMs > writtenMs ? latestMs : undefined;
  }

  /** How many nodes are being retired and are not asked to go yet. */
  retiringCount(): number {
    return this.#retiring.size;
  }

  /** The view of every claim. */
  views(): readonly NodeView[] {
    return [...this.claims.values()].map((claim) => this.viewOf(claim));
  }

  /** Notes the claims whose instance fails EC2's checks, by UID. They count for some minutes. */
  noteFailingChecks(claimUids: ReadonlySet<string>): void {
    this.#failingChecks = { claimUids, untilMs: this.#nowMs() + failingChecksMs };
  }

  /** Every node of the cluster with its claim and its health. */
  health(): readonly NodeHealth[] {
    const { claimUids, untilMs } = this.#failingChecks;
    const areFresh = this.#nowMs() < untilMs;
    return [...this.nodes.values()].map((node) => {
      const claim = this.claimOfNode(node);
      const condition = this.unhealthy.of(node.uid);
      return {
        node,
        ...(claim === undefined ? {} : { claim }),
        ...(condition === undefined ? {} : { condition }),
        ...(areFresh && claimUids.has(claim?.uid ?? '') ? { failsChecks: true } : {}),
      };
    });
  }

  /** Notes a pool (`NodePool/default`) that is there and cannot be read; undefined: it is not. */
  noteUnreadablePool(uid: string, key: string | undefined): void {
    if (key === undefined) this.#unreadablePools.delete(uid);
    else this.#unreadablePools.set(uid, key);
  }

  /** Whether the watch shows a pool of this key that cannot be read. */
  hasUnreadablePool(key: string): boolean {
    return [...this.#unreadablePools.values()].includes(key);
  }

  /** When this process first saw the pod terminating, by its own clock. */
  readonly podEndingSeenMs = ({ uid }: Pick<Pod, 'uid'>): number | undefined =>
    this.#endingPods.get(uid);

  /** The disruption budgets that select a pod. */
  readonly budgetsOf = (pod: Pod): readonly PodDisruptionBudget[] => this.#budgets.of(pod);

  /**
   * The room that claims and nodes promise to the successors of these pods, by UID, and the claims
   * among them. Holders that are being retired themselves do not count. Room on a node that is not
   * ready is still to come: the node may have become so after it joined.
   */
  roomsFor(pods: readonly Pod[]): {
    readonly rooms: ReadonlyMap<string, PodRoom>;
    readonly claims: ReadonlySet<string>;
  } {
    const rooms = new Map<string, PodRoom>();
    const claims = new Set<string>();
    for (const { uid } of pods)
      for (const { holder } of roomFor(this, uid, this.#nowMs())) {
        const isClaim = holder.kind === 'NodeClaim';
        const node = isClaim ? this.nodeOfClaim(holder.value) : holder.value;
        if (isRetiring(node, isClaim ? holder.value : undefined)) continue;
        if (isClaim) claims.add(holder.value.name);
        const isJoined =
          !isClaim || conditionTrueSinceMs(holder.value, 'Initialized') !== undefined;
        const isReady = isJoined && node?.ready !== false;
        if (rooms.get(uid) !== 'ready') rooms.set(uid, isReady ? 'ready' : 'coming');
      }
    return { rooms, claims };
  }

  /** Claims whose last pod event is later than their status says, with its time. */
  podEventsToWrite(): readonly { readonly claim: NodeClaim; readonly atMs: number }[] {
    return [...this.#podEvents].flatMap(([name, atMs]) => {
      const claim = this.claims.one('name', name);
      return claim === undefined || atMs - (claim.lastPodEventMs ?? 0) < apiTimeMs
        ? []
        : [{ claim, atMs }];
    });
  }

  #noteEnding({ kind, uid, after }: ClusterChange): void {
    if (kind !== 'pod') return;
    if (after?.deletionMs === undefined) this.#endingPods.delete(uid);
    else if (!this.#endingPods.has(uid)) this.#endingPods.set(uid, this.#nowMs());
  }

  #noteRetiring(change: ClusterChange): void {
    if (change.kind !== 'node') return;
    const { uid, after } = change;
    const isRetired = after?.annotations[annotations.retirement] !== undefined;
    if (isRetired && after.deletionMs === undefined) this.#retiring.add(uid);
    else this.#retiring.delete(uid);
  }

  #notePodEvent(change: ClusterChange): void {
    if (change.kind === 'claim' && change.after === undefined) this.#podEvents.delete(change.name);
    // A pod of the first list has not just come.
    if (change.kind !== 'pod' || !this.isSynced('pod')) return;
    if (!isPodEvent(change.before, change.after)) return;
    for (const name of this.#claimsOf(change)) this.#podEvents.set(name, this.#nowMs());
  }

  #claimsOf(change: ClusterChange): readonly string[] {
    switch (change.kind) {
      case 'pod':
        return this.#claimsOn(change.before?.nodeName, change.after?.nodeName);
      case 'claim': {
        const claim = change.after ?? change.before;
        return claim === undefined ? [] : [claim.name, ...this.#replacedBy(claim)];
      }
      case 'node': {
        const node = change.after ?? change.before;
        return node === undefined ? [] : this.#claimsOfNode(node);
      }
      case 'attachment':
        return this.#claimsOn((change.after ?? change.before)?.nodeName);
      case 'pool': {
        if (isStatusChange(change)) return [];
        const pool = change.after ?? change.before;
        const claims = pool === undefined ? [] : this.claims.by('pool', poolKey(pool.identity));
        return claims.map(({ name }) => name);
      }
      case 'pdb':
      case 'nodeclass':
      case 'daemonset':
      case 'namespace':
      case 'pv':
      case 'pvc':
      case 'storageclass':
      case 'csinode':
        return [];
    }
  }

  /** The node's claim, and those that wait for room on the node, as either of them says. */
  #claimsOfNode(node: Node): readonly string[] {
    const claim = this.claimOfNode(node);
    const replaced = claim === undefined ? [] : this.#replacedBy(claim);
    return [...this.#claimOf(node), ...this.#replacedBy(node), ...replaced];
  }

  #claimsOn(...nodeNames: readonly (string | undefined)[]): readonly string[] {
    return [...new Set(nodeNames)].flatMap((name) => this.#claimOf(this.nodes.one('name', name)));
  }

  #claimOf(node: Node | undefined): readonly string[] {
    const claim = node === undefined ? undefined : this.claimOfNode(node);
    return claim === undefined ? [] : [claim.name];
  }

  /** The claims whose pods this claim or node keeps room for: they wait for it. */
  #replacedBy({ annotations: held }: Pick<NodeClaim, 'annotations'>): readonly string[] {
    const moving = parsePromise(held[annotations.promise])?.forPodUids ?? [];
    return this.#claimsOn(...moving.map((uid) => this.pods.get(uid)?.nodeName));
  }
}
