import { annotations, type NodeClaim, parsePromise, renderPromise } from '@dovetail/core-api';
import { type Cluster, livePromise } from '@dovetail/core-cluster';
import { formatResources, type Node } from '@dovetail/core-kube-model';
import type { Clock } from '@dovetail/core-ports';
import {
  aboutClaim,
  conditionOf,
  type Decisions,
  type EventRecorder,
  isTrue,
  type NewCondition,
} from '@dovetail/service-kit';

import { stepOf } from '../cluster/claim-trace.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { AdmissionConfig } from '../config.js';
import { initializeDecision } from './claim-decisions.js';
import { consistencyIssues, consistencyOf, consistencyType } from './consistency.js';
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
  readonly events: EventRecorder;
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
    const node = cluster.nodeOfClaim(claim);
    if (node === undefined) return untilChanged;
    tagger.tag(claim, node);
    const placed = await placement.place(node, claim);
    if (isTrue(claim.conditions, 'Initialized'))
      return this.#endPromise((await this.#inspect(claim, node)) ?? claim);
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
      [this.#consistency(claim, node)],
    );
    if (initialized === undefined) return untilChanged;
    decisions.tell(initializeDecision(claim, node, clock.nowMs()), stepOf(claim, 'Registered'));
    return this.#endPromise(initialized);
  }

  /**
   * Compares an initialized node again, if that was never done, or if it was found to be as bought.
   * A node that was found too small stays so: its claim has its true capacity since.
   */
  async #inspect(claim: NodeClaim, node: Node): Promise<NodeClaim | undefined> {
    const held = conditionOf(claim.conditions, consistencyType);
    if (held?.status === 'False') return undefined;
    const found = this.#consistency(claim, node);
    return held?.status === found.status
      ? undefined
      : this.#deps.writer.setClaimCondition(claim, found);
  }

  /** The condition that says whether the node is as large as its claim, told of if it is not. */
  #consistency(claim: NodeClaim, node: Node): NewCondition {
    const issues = consistencyIssues(claim, node);
    for (const message of issues)
      this.#deps.events.record({
        about: aboutClaim(claim),
        type: 'Warning',
        reason: 'FailedConsistencyCheck',
        message,
      });
    return consistencyOf(issues);
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
