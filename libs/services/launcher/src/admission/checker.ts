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
 * from the admission on, and a watch may lag as much. A look that takes in what has changed passes
 * over all nodes, and they become ready by the hundred.
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
  /** The look at the nodes that is being made. */
  #looking: Promise<readonly ExistingNode[]> | undefined;

  constructor(cluster: Cluster, catalog: CatalogView, options: PlanOptions) {
    this.#cluster = cluster;
    this.#catalog = catalog;
    this.#options = options;
    this.#kept = new KeptNodes(cluster, catalog);
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
  async nodesAround(node: Node, clock: Clock, stop: StopSignal): Promise<readonly ExistingNode[]> {
    const last = this.#last;
    if (last === undefined || clock.nowMs() - last.atMs >= aroundMs)
      return this.nodesInTurns(clock, stop);
    const fresh = this.node(node, clock.nowMs());
    if (last.nodes.some(({ uid }) => uid === node.uid))
      return last.nodes.map((each) => (each.uid === node.uid ? fresh : each));
    const claimUid = this.#cluster.claimOfNode(node)?.uid;
    return [...last.nodes.filter(({ uid }) => uid !== claimUid), fresh];
  }

  /**
   * The nodes as they are now; those that did not change are the values of the last call. Other
   * work of the process gets its turn while many of them are new. Looks follow each other, so that
   * each has what its caller has written before.
   */
  async nodesInTurns(clock: Clock, stop: StopSignal): Promise<readonly ExistingNode[]> {
    while (this.#looking !== undefined) await this.#looking;
    this.#looking = this.#look(clock, stop).finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(clock: Clock, stop: StopSignal): Promise<readonly ExistingNode[]> {
    const turns = new Turns(clock);
    const look = this.#kept.inSteps(() => clock.nowMs());
    let step = look.next();
    for (; step.done !== true; step = look.next()) await turns.give(stop);
    const nodes = step.value;
    this.#last = { atMs: clock.nowMs(), nodes };
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
