import {
  type CatalogView,
  type Cluster,
  KeptNodes,
  snapshotWithoutNodes,
} from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { Clock, StopSignal } from '@dovetail/core-ports';
import {
  checkBinAmong,
  defaultPlanOptions,
  type ExistingNode,
  type PlanOptions,
  StandingNodes,
} from '@dovetail/core-scheduling';
import { Turns } from '@dovetail/service-kit';

import type { LauncherConfig } from '../config.js';
import type { CheckBin } from './judged.js';

/** The options that the checker looks at. Invariant: plans are made by the same ones. */
export const planOptionsOf = ({
  hostnameSpread,
  minValuesPolicy,
}: Pick<LauncherConfig, 'hostnameSpread' | 'minValuesPolicy'>): PlanOptions => ({
  ...defaultPlanOptions,
  hostnameSpread,
  minValuesPolicy,
});

/**
 * How old the other nodes may be when pods come to one. Their promises keep what belongs to them
 * from the admission on, and a watch may lag as much. A look at all of 5,000 nodes takes a tenth of
 * a second, and several times that on a busy machine.
 */
const aroundMs = 1_000;

/**
 * The independent checker on the launcher's own mirror. It keeps the nodes from one question to the
 * next. A question then costs what has changed since the one before, not all nodes and pods.
 */
export class Checker {
  readonly #cluster: Cluster;
  readonly #catalog: CatalogView;
  readonly #options: PlanOptions;
  readonly #kept: KeptNodes;
  readonly #standing = new StandingNodes();
  #last: { readonly atMs: number; readonly nodes: readonly ExistingNode[] } | undefined;

  constructor(cluster: Cluster, catalog: CatalogView, options: PlanOptions) {
    this.#cluster = cluster;
    this.#catalog = catalog;
    this.#options = options;
    this.#kept = new KeptNodes(cluster, catalog);
  }

  /** The nodes as they are now; those that did not change are the values of the last call. */
  nodes(nowMs: number): readonly ExistingNode[] {
    const nodes = this.#kept.now(nowMs);
    this.#last = { atMs: nowMs, nodes };
    return nodes;
  }

  /** One node that has joined, as it is now. */
  node(node: Node, nowMs: number): ExistingNode {
    return this.#kept.oneNow(node, nowMs);
  }

  /**
   * The nodes around one that pods come to. That one is as it is now; the others are those of the
   * last look, if it is not long ago: nodes become ready by the hundred. A node that has joined
   * since takes the place of its claim, at the end.
   */
  nodesAround(node: Node, nowMs: number): readonly ExistingNode[] {
    const last = this.#last;
    if (last === undefined || nowMs - last.atMs >= aroundMs) return this.nodes(nowMs);
    const fresh = this.node(node, nowMs);
    if (last.nodes.some(({ uid }) => uid === node.uid))
      return last.nodes.map((each) => (each.uid === node.uid ? fresh : each));
    const claimUid = this.#cluster.claimOfNode(node)?.uid;
    return [...last.nodes.filter(({ uid }) => uid !== claimUid), fresh];
  }

  /** As `nodes`; other work of the process gets its turn while many of them are new. */
  async nodesInTurns(clock: Clock, stop: StopSignal): Promise<readonly ExistingNode[]> {
    const nodes = this.nodes(clock.nowMs());
    const turns = new Turns(clock);
    for (const node of nodes) {
      this.#standing.read([node]);
      await turns.give(stop);
    }
    // A round may ask about no bin, and what has changed would be held twice for ever.
    this.#standing.keep(nodes);
    return nodes;
  }

  /** Asks about bins among pools, types and storage as they are now. */
  asOfNow(): CheckBin {
    const around = snapshotWithoutNodes(this.#cluster, this.#catalog);
    return ({ nodes, ...question }) => {
      this.#standing.keep(nodes);
      return checkBinAmong(this.#standing, around, question, this.#options);
    };
  }
}
