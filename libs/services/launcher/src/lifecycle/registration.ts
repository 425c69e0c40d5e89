import { labels, type NodeClaim, poolKey, taints } from '@dovetail/core-api';
import { type Cluster, isRegistered, livePromise } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { Clock, Metrics } from '@dovetail/core-ports';
import {
  aboutClaim,
  aboutNode,
  type Decisions,
  type EventRecorder,
  isTrue,
} from '@dovetail/service-kit';

import { stepOf } from '../cluster/claim-trace.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { RegistrationHealth } from '../discovery/registration-health.js';
import type { Nominations } from '../tell/nominations.js';
import { registerDecision } from './claim-decisions.js';
import { registeredNode } from './node-changes.js';
import type { Placement } from './placement.js';
import { type StepOutcome, untilChanged, within } from './step.js';

/** The state of nodes, the writer that registers them, and the outlets of what happened. */
export type RegistrationDeps = {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'count'>;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly placement: Placement;
  readonly decisions: Decisions;
  readonly events: EventRecorder;
  readonly nominations: Nominations;
  readonly health: Pick<RegistrationHealth, 'succeeded'>;
};

/** A provider ID that two nodes carry is a fault that only a person can end. */
const severalNodesMs = 5_000;

/**
 * The second step: the node that carries the claim's provider ID becomes the claim's node. It is
 * cordoned when pods are to be bound to it before it opens.
 */
export class Registration {
  readonly #deps: RegistrationDeps;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  async take(claim: NodeClaim): Promise<StepOutcome> {
    const { cluster, writer } = this.#deps;
    const { providerId = '' } = claim;
    const nodes = cluster.nodes.by('providerId', providerId);
    const node = cluster.nodeOfClaim(claim);
    const wasRegistered = isTrue(claim.conditions, 'Registered');
    // A Node that appears later takes nothing from the one that registered (Karpenter's rule).
    if (nodes.length > 1 && !wasRegistered) {
      await writer.setClaimCondition(claim, {
        type: 'Registered',
        status: 'False',
        reason: 'MultipleNodesFound',
        message: `${nodes.length} nodes carry the provider ID ${providerId}`,
      });
      return within(severalNodesMs);
    }
    if (node === undefined) return wasRegistered ? untilChanged : this.#notJoined(claim);
    if (wasRegistered && isRegistered(node)) return 'done';
    await this.#register(node, claim);
    return untilChanged;
  }

  #notJoined(claim: NodeClaim): StepOutcome {
    this.#deps.events.record({
      about: aboutClaim(claim),
      type: 'Normal',
      reason: 'DisruptionBlocked',
      // Karpenter's words.
      message: 'Nodeclaim does not have an associated node',
    });
    return 'stalled';
  }

  async #register(node: Node, claim: NodeClaim): Promise<void> {
    const { writer, clock, cluster, placement, nominations, decisions } = this.#deps;
    this.#warnOfMissingTaint(node);
    const cordon = placement.bindable(claim).length > 0;
    const registered = await writer.changeNode(node, (now) =>
      registeredNode(now, claim, { cordon, nowMs: clock.nowMs() }),
    );
    if (registered === undefined) return;
    const updated = await writer.setClaimCondition(
      claim,
      { type: 'Registered', status: 'True', reason: 'Registered' },
      { nodeName: node.name },
    );
    if (updated === undefined) return;
    const pool = cluster.pools.one('key', poolKey(claim.pool));
    if (!isTrue(claim.conditions, 'Registered')) {
      if (pool !== undefined) this.#deps.health.succeeded(pool.uid);
      this.#deps.metrics.count('karpenter_nodes_created_total', {
        nodepool: claim.pool.name,
        zone: claim.labels[labels.zone] ?? '',
      });
    }
    const nowMs = clock.nowMs();
    nominations.nominate(livePromise(cluster, claim.uid, nowMs)?.waiting ?? [], {
      claimName: claim.name,
      nodeName: node.name,
    });
    const joined = registerDecision(claim, node, { nowMs, isCordoned: cordon });
    decisions.tell(joined, stepOf(claim, 'Launched'));
  }

  /**
   * Karpenter's nodes boot with this taint, so that nothing lands on them before they are
   * registered.
   */
  #warnOfMissingTaint(node: Node): void {
    const { key } = taints.unregistered;
    if (isRegistered(node) || node.taints.some((taint) => taint.key === key)) return;
    this.#deps.events.record({
      about: aboutNode(node),
      type: 'Warning',
      reason: 'UnregisteredTaintMissing',
      message: `Missing taint prevents registration-related race conditions on Karpenter-managed nodes: ${key}`,
    });
  }
}
