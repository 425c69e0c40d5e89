import { annotations, labels, terminationFinalizer, type NodeClaim } from '@dovetail/core-api';
import { deadlineToWrite, instanceIdOf, note, parseRetirement, terminationDeadlineMs, terminationStep, type DisruptionNote, type TerminationFacts, type TerminationStep } from '@dovetail/core-disruption';
import { formatDuration, type Node } from '@dovetail/core-kube-model';
import { kubeResources, type StopSignal } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { deleteClaim, releaseClaim, writeConditions, writeDeadline, type ConditionToWrite } from '../effects/claim-edits.js';
import { claimFacts } from '../effects/decisions.js';
import { aboutClaim, aboutNode } from '../effects/events.js';
import { markTerminating, releaseNode } from '../effects/node-edits.js';
import type { Again } from '../loop/looks.js';
import { Drainer } from './drainer.js';
import { factsOf, readClaim } from './facts.js';

/** Why a claim is going, for Events and decisions: what its node says, else somebody has deleted it. */
export const causeOf = (node: Node | undefined): string => {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  return retirement === undefined ? 'deleted' : retirement.detail ?? retirement.cause;
};

/** The same, as decisions say it. */
function reasonOf(node: Node | undefined): DisruptionNote {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  return retirement === undefined ? note('deleted-by-user', 'its NodeClaim was deleted, not by a retirement', {}) : note(retirement.cause, `it was retired: ${causeOf(node)}`, {});
}

/**
 * Ends nodes: one path for every cause, level-triggered from what the API server and EC2 say. A look does the next step and says
 * when to look again; a crash between any two effects leaves a state that the next look understands.
 */
export class Terminator {
  readonly #reaping: Reaping;
  readonly #drainer: Drainer;
  /** Claim UID → when it was first seen here to be deleted. Forgotten by a restart, which costs a drain its minimum once more. */
  readonly #endingSinceMs = new Map<string, number>();
  /** When the call that ends an instance was made, for metrics only. */
  readonly #calledMs = new Map<string, number>();

  constructor(reaping: Reaping) {
    this.#reaping = reaping;
    this.#drainer = new Drainer(reaping);
  }

  /** One look at a claim that is being deleted. Claims that never had an instance are the launcher's to let go. */
  async look(name: string, stop: StopSignal): Promise<Again> {
    const claim = await readClaim(this.#reaping.deps.kube, name);
    if (claim?.deletionMs === undefined || !claim.finalizers.includes(terminationFinalizer) || instanceIdOf(claim) === undefined) return undefined;
    const endingSinceMs = this.#endingSinceMs.get(claim.uid) ?? this.#reaping.deps.clock.nowMs();
    this.#endingSinceMs.set(claim.uid, endingSinceMs);
    const deadlineMs = deadlineToWrite(claim);
    if (deadlineMs !== undefined) await writeDeadline(this.#reaping.deps.kube, claim, deadlineMs);
    const facts = await factsOf(this.#reaping, deadlineMs === undefined ? claim : { ...claim, annotations: { ...claim.annotations, [annotations.terminationTimestamp]: new Date(deadlineMs).toISOString() } }, endingSinceMs, stop);
    if (stop.aborted) return undefined;
    const step = terminationStep(facts);
    if (facts.node !== undefined && step.kind !== 'release') await this.#mark(facts.node);
    return this.#do(step, facts, stop);
  }

  /** Taint, label and deletion of the Node come before anything that they are to be seen by. */
  async #mark(node: Node): Promise<void> {
    const { kube } = this.#reaping.deps;
    await markTerminating(kube, node);
    // Only a finalizer keeps a deleted Node, and with it its pods, from vanishing before they are drained.
    if (node.deletionMs === undefined && node.finalizers.includes(terminationFinalizer)) await kube.delete({ resource: kubeResources.nodes, name: node.name }, { uid: node.uid });
  }

  async #do(step: TerminationStep, facts: TerminationFacts, stop: StopSignal): Promise<Again> {
    const { drainPauseMs, instancePauseMs } = this.#reaping.config.termination;
    switch (step.kind) {
      case 'taint': return { afterMs: 0 };
      case 'drain': await this.#drain(step, facts); return { afterMs: drainPauseMs };
      case 'wait-volumes': await this.#waitVolumes(step.names, facts); return { afterMs: drainPauseMs };
      case 'terminate': return this.#terminate(facts, stop);
      case 'await-gone': await this.#conditions(facts, [{ type: 'InstanceTerminating', status: 'True', reason: 'InstanceTerminating' }]); return { afterMs: instancePauseMs };
      case 'release': await this.#release(facts); return undefined;
    }
  }

  async #drain({ drain }: Extract<TerminationStep, { kind: 'drain' }>, facts: TerminationFacts): Promise<void> {
    const { claim, node } = facts;
    if (node === undefined) return;
    await this.#conditions(facts, [{ type: 'Drained', status: 'Unknown', reason: 'Draining' }]);
    const deadlineMs = terminationDeadlineMs(claim);
    if (deadlineMs !== undefined) {
      for (const about of [aboutNode(node), aboutClaim(claim)]) {
        this.#reaping.events.write({ about, type: 'Warning', reason: 'TerminationGracePeriodExpiring', message: `All pods will be deleted by ${new Date(deadlineMs).toISOString()}` });
      }
    }
    await this.#drainer.step(node, drain, causeOf(node));
    this.#drainer.forget((uid) => this.#reaping.world.pods.get(uid) !== undefined);
  }

  async #waitVolumes(names: readonly string[], facts: TerminationFacts): Promise<void> {
    this.#tellDrained(facts);
    await this.#conditions(facts, [{ type: 'Drained', status: 'True', reason: 'Drained' }, { type: 'VolumesDetached', status: 'Unknown', reason: 'AwaitingVolumeDetachment', message: names.slice(0, 5).join(', ') }]);
    if (facts.node !== undefined) this.#reaping.events.write({ about: aboutNode(facts.node), type: 'Normal', reason: 'AwaitingVolumeDetachment', message: `Awaiting deletion of bound volumeattachments (${names.slice(0, 5).join(', ')})` });
  }

  async #terminate(facts: TerminationFacts, stop: StopSignal): Promise<Again> {
    const { claim, node, attachments } = facts;
    const { deps, config, instances } = this.#reaping;
    const id = instanceIdOf(claim);
    if (id === undefined) return undefined;
    if (node !== undefined) {
      this.#tellDrained(facts);
      await this.#conditions(facts, [
        { type: 'Drained', status: 'True', reason: 'Drained' },
        attachments.length === 0 ? { type: 'VolumesDetached', status: 'True', reason: 'VolumesDetached' } : { type: 'VolumesDetached', status: 'False', reason: 'TerminationGracePeriodElapsed' },
      ]);
    }
    const answer = await instances.terminate(id, stop);
    if (answer.kind === 'later') return { afterMs: answer.afterMs };
    if (answer.kind === 'refused') throw new Error(`EC2 refuses to end ${id} of ${claim.name}: ${answer.awsCode}: ${answer.message}`);
    if (!this.#calledMs.has(id)) this.#calledMs.set(id, deps.clock.nowMs());
    await this.#conditions(facts, [{ type: 'InstanceTerminating', status: 'True', reason: 'InstanceTerminating' }]);
    return { afterMs: config.termination.instancePauseMs };
  }

  #tellDrained({ claim, node, nowMs, endingSinceMs }: TerminationFacts): void {
    if (node === undefined || claim.conditions.some(({ type, status }) => type === 'Drained' && status === 'True')) return;
    const tookMs = nowMs - endingSinceMs;
    this.#reaping.deps.metrics.count('karpenter_nodes_drained_total', { nodepool: claim.pool.name });
    this.#reaping.decisions.tell({ ...claimFacts(claim), id: `drain/${claim.uid}`, kind: 'drain', summary: `${node.name} is drained after ${formatDuration(Math.round(tookMs / 1000) * 1000)} (${causeOf(node)})`, reasons: [reasonOf(node)], facts: { node: node.name, cause: causeOf(node), drainMs: String(tookMs) } });
  }

  /** Told first, let go last: the claim is the only thing that a successor would find this by. */
  async #release(facts: TerminationFacts): Promise<void> {
    const { claim, node } = facts;
    const { kube } = this.#reaping.deps;
    await this.#conditions(facts, [{ type: 'InstanceTerminating', status: 'True', reason: 'InstanceTerminated' }]);
    const cause = causeOf(node);
    this.#reaping.decisions.tell({
      ...claimFacts(claim), id: `terminate/${claim.uid}`, kind: 'terminate', reasons: [reasonOf(node)], facts: { cause, ...(node === undefined ? {} : { node: node.name }) },
      summary: `${claim.name} is gone with ${instanceIdOf(claim) ?? 'no instance'} (${cause})`,
    });
    if (node !== undefined) await releaseNode(kube, node);
    const released = await releaseClaim(kube, claim);
    if (released !== undefined) this.#count(facts);
  }

  #count({ claim, node, nowMs, endingSinceMs }: TerminationFacts): void {
    this.#endingSinceMs.delete(claim.uid);
    const { metrics } = this.#reaping.deps;
    const id = instanceIdOf(claim) ?? '';
    metrics.count('karpenter_nodeclaims_terminated_total', { nodepool: claim.pool.name, capacity_type: claim.labels[labels.capacityType] ?? '', zone: claim.labels[labels.zone] ?? '' });
    metrics.observe('karpenter_nodeclaims_termination_duration_seconds', (nowMs - endingSinceMs) / 1000, { nodepool: claim.pool.name });
    const calledMs = this.#calledMs.get(id);
    if (calledMs !== undefined) metrics.observe('karpenter_nodeclaims_instance_termination_duration_seconds', (nowMs - calledMs) / 1000, { nodepool: claim.pool.name });
    this.#calledMs.delete(id);
    if (node === undefined) return;
    metrics.count('karpenter_nodes_terminated_total', { nodepool: claim.pool.name });
    if (node.deletionMs !== undefined) metrics.observe('karpenter_nodes_termination_duration_seconds', (nowMs - endingSinceMs) / 1000, { nodepool: claim.pool.name });
  }

  async #conditions({ claim }: Pick<TerminationFacts, 'claim'>, wanted: readonly ConditionToWrite[]): Promise<void> {
    const { kube, clock } = this.#reaping.deps;
    await writeConditions(kube, claim, wanted, clock.nowMs());
  }
}

/** Deletes a claim whose Node somebody has deleted: the node goes the same way as all others. */
export async function followNodeDeletion(reaping: Reaping, claim: NodeClaim, node: Node): Promise<void> {
  reaping.deps.log.info('node-deleted', `Node ${node.name} was deleted; its claim ${claim.name} follows`, { node: node.name, claim: claim.name });
  await deleteClaim(reaping.deps.kube, claim);
}
