import { annotations, type NodeClaim, parsePromise, renderPromise } from '@dovetail/core-api';
import { type Cluster, livePromise } from '@dovetail/core-cluster';
import { formatResources, type Node } from '@dovetail/core-kube-model';
import type { Clock } from '@dovetail/core-ports';
import { type Decisions, isTrue } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { AdmissionConfig } from '../config.js';
import { initializeDecision } from './claim-decisions.js';
import type { InstanceTagger } from './instance-tagger.js';
import { initializedNode } from './node-changes.js';
import { notInitialized, placingPods } from './node-readiness.js';
import type { Overdue } from './overdue.js';
import type { Placement } from './placement.js';
import { type StepOutcome, untilChanged, within } from './step.js';

/** The state of nodes, and the steps that initialization takes. */
export type InitializationDeps = {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly tagger: InstanceTagger;
  readonly placement: Placement;
  readonly overdue: Overdue;
  readonly decisions: Decisions;
};

/**
 * The third step: the node's pods are placed, and when it is usable and open, the claim is
 * initialized. From then on its promise has an end.
 */
export class Initialization {
  readonly #deps: InitializationDeps;
  readonly #config: Pick<AdmissionConfig, 'promiseMs' | 'replacementPromiseMs'>;

  constructor(
    deps: InitializationDeps,
    config: Pick<AdmissionConfig, 'promiseMs' | 'replacementPromiseMs'>,
  ) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Follows registration: a claim without its node waits for that step to see it. */
  async take(claim: NodeClaim): Promise<StepOutcome> {
    const { cluster, tagger, placement, writer } = this.#deps;
    const node = cluster.nodes.one('providerId', claim.providerId);
    if (node === undefined) return untilChanged;
    tagger.tag(claim, node);
    const placed = await placement.place(node, claim);
    if (isTrue(claim.conditions, 'Initialized')) return this.#endPromise(claim);
    const now = cluster.nodes.get(node.uid) ?? node;
    const waiting = notInitialized(now, claim);
    if (waiting === undefined && placed === 'open') return this.#initialize(now, claim);
    await writer.setClaimCondition(claim, waiting ?? placingPods);
    const overdueMs = await this.#deps.overdue.check(now, claim, (waiting ?? placingPods).reason);
    const placedMs = placed === 'open' ? undefined : placed.againInMs;
    const againMs = Math.min(overdueMs ?? Infinity, placedMs ?? Infinity);
    return againMs === Infinity ? untilChanged : within(againMs);
  }

  async #initialize(node: Node, claim: NodeClaim): Promise<StepOutcome> {
    const { writer, decisions, clock } = this.#deps;
    await writer.changeNode(node, initializedNode);
    const initialized = await writer.setClaimCondition(
      claim,
      { type: 'Initialized', status: 'True', reason: 'Initialized' },
      { capacity: formatResources(node.capacity), allocatable: formatResources(node.allocatable) },
    );
    if (initialized === undefined) return untilChanged;
    decisions.tell(initializeDecision(claim, node, clock.nowMs()));
    return this.#endPromise(initialized);
  }

  /**
   * Gives the promise of an initialized claim an end: pods that do not come until then may go
   * elsewhere.
   */
  async #endPromise(claim: NodeClaim): Promise<StepOutcome> {
    const { cluster, clock, writer } = this.#deps;
    const live = livePromise(cluster, claim.uid, clock.nowMs());
    if (live === undefined || live.promise.untilMs !== undefined) return untilChanged;
    const { promiseMs, replacementPromiseMs } = this.#config;
    const lastsMs = live.promise.reserved === undefined ? promiseMs : replacementPromiseMs;
    await writer.changeClaim(claim, (now) => {
      const promise = parsePromise(now.annotations[annotations.promise]);
      if (promise === undefined || promise.untilMs !== undefined) return undefined;
      const ending = { ...promise, untilMs: clock.nowMs() + lastsMs };
      return { metadata: { annotations: { [annotations.promise]: renderPromise(ending) } } };
    });
    return untilChanged;
  }
}
