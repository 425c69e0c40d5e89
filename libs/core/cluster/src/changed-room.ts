import type { NodeClaim } from '@dovetail/core-api';
import { awaitedByNode, type Node, type Pod } from '@dovetail/core-kube-model';

import type { Cluster, ClusterChange } from './cluster.js';

/**
 * Gathers the nodes and claims whose room may have changed since the last look: by themselves, by
 * their pods, by the other half of their pair, or by the pods of their promises.
 */
export class ChangedRoom {
  readonly #cluster: Cluster;
  #uids = new Set<string>();
  #nodeNames = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.subscribe((change) => this.#hear(change));
  }

  /** UIDs of nodes and claims to look at again at `nowMs`. The next call answers what is new. */
  take(): ReadonlySet<string> {
    const { nodes, claims } = this.#cluster;
    const taken = this.#uids;
    for (const uid of endingByThemselves(this.#cluster)) taken.add(uid);
    for (const name of this.#nodeNames)
      for (const { uid } of nodes.by('name', name)) taken.add(uid);
    // The promise of a claim keeps room on its node.
    for (const uid of [...taken]) {
      const claim = claims.get(uid);
      const node = claim === undefined ? undefined : this.#cluster.nodeOfClaim(claim);
      if (node !== undefined) taken.add(node.uid);
    }
    this.#uids = new Set();
    this.#nodeNames = new Set();
    return taken;
  }

  #hear(change: ClusterChange): void {
    const { kind, uid } = change;
    if (kind === 'node' || kind === 'claim') this.#uids.add(uid);
    if (change.kind === 'pod') this.#podChanged(uid, [change.before, change.after]);
    if (change.kind === 'node') this.#nodeChanged([change.before, change.after]);
    if (change.kind === 'claim') this.#claimChanged([change.before, change.after]);
  }

  #podChanged(uid: string, readings: readonly (Pod | undefined)[]): void {
    const { promises } = this.#cluster;
    for (const holder of [...promises.holdersOf(uid), ...promises.roomsOf(uid)])
      this.#uids.add(holder);
    for (const pod of readings)
      for (const name of [pod?.nodeName, pod === undefined ? undefined : awaitedByNode(pod)])
        if (name !== undefined) this.#nodeNames.add(name);
  }

  #nodeChanged(readings: readonly (Node | undefined)[]): void {
    const { claims, nodes } = this.#cluster;
    for (const node of readings) {
      if (node === undefined) continue;
      const { providerId, name } = node;
      const paired =
        providerId === undefined
          ? []
          : [...claims.by('providerId', providerId), ...nodes.by('providerId', providerId)];
      for (const { uid } of [...paired, ...claims.by('node', name)]) this.#uids.add(uid);
    }
  }

  #claimChanged(readings: readonly (NodeClaim | undefined)[]): void {
    const { nodes } = this.#cluster;
    for (const claim of readings) {
      const { providerId, nodeName } = claim ?? {};
      if (nodeName !== undefined) this.#nodeNames.add(nodeName);
      for (const { uid } of providerId === undefined ? [] : nodes.by('providerId', providerId))
        this.#uids.add(uid);
    }
  }
}

/** The holders of promises that end by time, or with a node that they replace. */
const endingByThemselves = ({ promises }: Cluster): readonly string[] =>
  [...promises.holders()].filter((uid) => {
    const { untilMs, replaces } = promises.of(uid) ?? {};
    return untilMs !== undefined || replaces !== undefined;
  });
