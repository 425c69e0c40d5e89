import { annotations, type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import {
  deadlineToWrite,
  parseRetirement,
  terminationDeadlineMs,
  type TerminationFacts,
  type TerminationStep,
  terminationStep,
} from '@dovetail/core-disruption';
import { formatDuration, isoSeconds, type Node } from '@dovetail/core-kube-model';
import { CloudError, kubeResources, type StopSignal } from '@dovetail/core-ports';
import {
  aboutClaim,
  aboutNode,
  type Again,
  claimFacts,
  holdsCondition,
  type NewCondition,
  type NewDecision,
} from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { kubeBy } from '../deps.js';
import { releaseClaim, writeConditions, writeDeadline } from '../outside/claim-edits.js';
import type { ClusterIdentity } from '../outside/identity.js';
import { readClaim, readNode } from '../outside/live.js';
import { isMarkedTerminating, markTerminating, releaseNode } from '../outside/node-edits.js';
import { retiringSince, traceRetired } from '../traced-retirement.js';
import { reasonOf, shownCauseOf } from './causes.js';
import { Drainer } from './drainer.js';
import { type Ending, liveFacts, watchedFacts } from './facts.js';
import { isOfNoInstance, tellOfNoInstance } from './no-instance.js';
import { Owners } from './owners.js';
import { Successors } from './successors.js';
import { TerminationTimes } from './termination-times.js';

const drained: NewCondition = { type: 'Drained', status: 'True', reason: 'Drained' };
const draining: NewCondition = { type: 'Drained', status: 'Unknown', reason: 'Draining' };
const terminating = (
  reason: 'InstanceTerminating' | 'InstanceTerminated',
  message = '',
): NewCondition => ({ type: 'InstanceTerminating', status: 'True', reason, message });

/** Volumes that Events and conditions name; more would only make them longer. */
const namesMax = 5;

/** The steps that wait and can be repeated: they may rest on the watches. */
const waitingSteps: ReadonlySet<TerminationStep['kind']> = new Set([
  'drain',
  'wait-volumes',
  'await-gone',
]);

/** Whether the claim is ours to end: it is being deleted, has an instance, and waits for us. */
const isToEnd = (claim: NodeClaim): boolean =>
  claim.deletionMs !== undefined &&
  instanceIdOf(claim) !== undefined &&
  claim.finalizers.includes(terminationFinalizer);

/**
 * How often a Node that others keep is looked at. The watch shows earlier that it is gone; each
 * look costs a few reads.
 */
const keptPauseMs = 10_000;

/** The time until a contested instance is looked at again. An operator has to act on it first. */
const contestedPauseMs = 60_000;

const isTerminated = ({ conditions }: NodeClaim): boolean =>
  conditions.some(({ reason }) => reason === 'InstanceTerminated');

const isDrained = ({ conditions }: NodeClaim): boolean =>
  conditions.some(({ type, status }) => type === 'Drained' && status === 'True');

/**
 * Ends nodes: one path for every cause, level-triggered from what the API server and EC2 say. A
 * look does the next step and answers when to look again. A crash between any two effects leaves a
 * state that the next look understands.
 */
export class Terminator {
  readonly #context: ReaperContext;
  readonly #drainer: Drainer;
  readonly #times: TerminationTimes;
  readonly #owners: Owners;
  readonly #successors: Successors;
  readonly #onAsk: (claimName: string) => void;

  /** `onAsk` is called with claims for whose pods a solver is to be asked, by `ask`. */
  constructor(
    context: ReaperContext,
    identity: ClusterIdentity,
    onAsk: (claimName: string) => void,
  ) {
    this.#context = context;
    this.#onAsk = onAsk;
    this.#successors = new Successors(context);
    this.#owners = new Owners(context, identity);
    this.#drainer = new Drainer(context);
    this.#times = new TerminationTimes(context.deps);
  }

  /**
   * Looks at a claim that is being deleted. One that never had an instance is the launcher's. As
   * long as there is something to wait for, the watches are enough. Steps that cannot be taken
   * back are decided again on live reads.
   */
  async look(name: string, stop: StopSignal): Promise<Again> {
    const { cluster } = this.#context;
    const watched = cluster.claims.one('name', name);
    if (watched === undefined) return undefined;
    if (isOfNoInstance(watched)) return tellOfNoInstance(this.#context, watched);
    if (!isToEnd(watched)) return undefined;
    if (!(await this.#isOwner(watched, stop))) return { afterMs: contestedPauseMs };
    const seen = await this.#ending(watched, cluster.nodeOfClaim(watched));
    const waiting = await watchedFacts(this.#context, seen, stop);
    const step = terminationStep(waiting);
    if (waitingSteps.has(step.kind)) return this.#do(step, waiting, stop);
    return this.#lookLive(seen.claim, stop);
  }

  /** Asks a solver for a place for the claim's pods, beside the drain. */
  ask(name: string): Promise<Again> {
    return this.#successors.ask(name);
  }

  async #lookLive(watched: NodeClaim, stop: StopSignal): Promise<Again> {
    const { deps, cluster } = this.#context;
    const kube = kubeBy(deps, terminationDeadlineMs(watched));
    const claim = await readClaim(kube, watched.name);
    if (claim === undefined || !isToEnd(claim)) return undefined;
    const ending = await this.#ending(claim, await readNode(kube, cluster, claim));
    const facts = await liveFacts(this.#context, ending, stop);
    return this.#do(terminationStep(facts), facts, stop);
  }

  /** Whether the instance is the claim's, as far as that is in doubt. */
  async #isOwner(claim: NodeClaim, stop: StopSignal): Promise<boolean> {
    const id = instanceIdOf(claim);
    if (id === undefined || !this.#owners.isContested(claim, id)) return true;
    return this.#owners.mayEnd(claim, id, stop);
  }

  async #ending(claim: NodeClaim, node: Node | undefined): Promise<Ending> {
    const endingSinceMs = this.#times.begun(claim);
    const dated = await this.#withDeadline(claim, node, endingSinceMs);
    return { claim: dated, node, endingSinceMs };
  }

  /**
   * The claim with the time by which its node must be gone, written if it has to be. A notice that
   * came beside the deletion is on the Node.
   */
  async #withDeadline(
    claim: NodeClaim,
    node: Node | undefined,
    seenMs: number,
  ): Promise<NodeClaim> {
    const retirement = parseRetirement(node?.annotations[annotations.retirement]);
    const deadlineMs = deadlineToWrite(claim, { askedMs: retirement?.deadlineMs, seenMs });
    if (deadlineMs === undefined) return claim;
    await writeDeadline(kubeBy(this.#context.deps, deadlineMs), claim, deadlineMs);
    const written = { [annotations.terminationTimestamp]: isoSeconds(deadlineMs) };
    return { ...claim, annotations: { ...claim.annotations, ...written } };
  }

  /** Taint, label and deletion of the Node come before everything that must see them. */
  async #mark(node: Node): Promise<void> {
    const { deadlineMs } = parseRetirement(node.annotations[annotations.retirement]) ?? {};
    const kube = kubeBy(this.#context.deps, deadlineMs);
    const { cluster } = this.#context;
    const claim = cluster.claimOfNode(node);
    const paired = claim === undefined ? [] : cluster.nodesOfClaim(claim);
    for (const one of [node, ...paired.filter(({ uid }) => uid !== node.uid)])
      if (!isMarkedTerminating(one)) await markTerminating(kube, one);
    // A deleted Node vanishes with its pods before they are drained, unless a finalizer keeps it.
    if (node.deletionMs === undefined && node.finalizers.includes(terminationFinalizer))
      await kube.delete({ resource: kubeResources.nodes, name: node.name }, { uid: node.uid });
  }

  async #do(step: TerminationStep, facts: TerminationFacts, stop: StopSignal): Promise<Again> {
    if (stop.aborted) return undefined;
    const { drainPauseMs, instancePauseMs } = this.#context.config.termination;
    if (facts.node !== undefined && step.kind !== 'release') await this.#mark(facts.node);
    switch (step.kind) {
      case 'taint':
        // The look that follows on the change of the node comes earlier.
        return { afterMs: drainPauseMs };
      case 'drain':
        await this.#drain(step, facts);
        return { afterMs: drainPauseMs };
      case 'wait-volumes':
        await this.#waitForVolumes(step.names, facts);
        return { afterMs: drainPauseMs };
      case 'terminate':
        return this.#terminate(facts, stop);
      case 'await-gone':
        await this.#setConditions(facts, terminating('InstanceTerminating'));
        return { afterMs: instancePauseMs };
      case 'release':
        return this.#release(facts);
    }
  }

  async #drain(
    { drain }: Extract<TerminationStep, { kind: 'drain' }>,
    facts: TerminationFacts,
  ): Promise<void> {
    const { claim, node } = facts;
    if (node === undefined) return;
    await this.#setConditions(facts, draining);
    const successors = this.#successors.look(facts);
    if (successors.ask) this.#onAsk(claim.name);
    if (successors.wait && drain.force.length === 0) return;
    const deadlineMs = terminationDeadlineMs(claim);
    if (deadlineMs !== undefined) this.#recordDeadline(claim, node, deadlineMs);
    await this.#drainer.step(node, drain, { reason: shownCauseOf(node), deadlineMs });
    this.#drainer.forget((uid) => this.#context.cluster.pods.get(uid) !== undefined);
  }

  #recordDeadline(claim: NodeClaim, node: Node, deadlineMs: number): void {
    for (const about of [aboutNode(node), aboutClaim(claim)])
      this.#context.events.record({
        about,
        type: 'Warning',
        reason: 'TerminationGracePeriodExpiring',
        message: `All pods will be deleted by ${isoSeconds(deadlineMs)}`,
      });
  }

  async #waitForVolumes(names: readonly string[], facts: TerminationFacts): Promise<void> {
    const shown = names.slice(0, namesMax).join(', ');
    this.#tellDrained(facts);
    await this.#setConditions(facts, drained, {
      type: 'VolumesDetached',
      status: 'Unknown',
      reason: 'AwaitingVolumeDetachment',
      message: shown,
    });
    if (facts.node === undefined) return;
    this.#context.events.record({
      about: aboutNode(facts.node),
      type: 'Normal',
      reason: 'AwaitingVolumeDetachment',
      message: `Awaiting deletion of bound volumeattachments (${shown})`,
    });
  }

  async #terminate(facts: TerminationFacts, stop: StopSignal): Promise<Again> {
    const { claim, node, attachments } = facts;
    const id = instanceIdOf(claim);
    if (id === undefined) return undefined;
    if (!(await this.#owners.mayEnd(claim, id, stop))) return { afterMs: contestedPauseMs };
    // The pods of a node that is gone were not drained.
    if (node !== undefined && (facts.instance === 'live' || node.ready)) {
      this.#tellDrained(facts);
      const isDetached = attachments.length === 0;
      await this.#setConditions(facts, drained, {
        type: 'VolumesDetached',
        status: isDetached ? 'True' : 'False',
        reason: isDetached ? 'VolumesDetached' : 'TerminationGracePeriodElapsed',
      });
    }
    const answer = await this.#context.instances.terminate(id, stop).catch((error: unknown) => {
      if (error instanceof CloudError) this.#times.failed(claim);
      throw error;
    });
    if (answer.kind === 'later') return { afterMs: answer.afterMs };
    if (answer.kind === 'refused') {
      this.#times.failed(claim);
      throw new Error(
        `EC2 refuses to end ${id} of ${claim.name}: ${answer.awsCode}: ${answer.message}`,
      );
    }
    this.#times.called(id);
    await this.#setConditions(facts, terminating('InstanceTerminating'));
    return { afterMs: this.#context.config.termination.instancePauseMs };
  }

  #tellDrained({ claim, node, nowMs, endingSinceMs }: TerminationFacts): void {
    if (node === undefined || isDrained(claim)) return;
    const { deps, decisions } = this.#context;
    const tookMs = nowMs - endingSinceMs;
    const cause = shownCauseOf(node);
    const took = formatDuration(Math.round(tookMs / 1_000) * 1_000);
    deps.metrics.count('karpenter_nodes_drained_total', { nodepool: claim.pool.name });
    const decision: NewDecision = {
      ...claimFacts(claim, this.#context.cluster.priceNow(claim)),
      id: `drain/${claim.uid}`,
      kind: 'drain',
      summary: `drained ${node.name} in ${took} (${cause})`,
      reasons: [reasonOf(node)],
      facts: { node: node.name, cause, drainMs: String(tookMs) },
    };
    decisions.tell(decision, retiringSince(this.#context, { claim, node }, endingSinceMs));
  }

  /**
   * Publishes first and drops the finalizers last: a successor finds this work by the claim. The
   * claim stays as long as its Node does (Karpenter's rule), so that budgets go on counting it.
   */
  async #release(facts: TerminationFacts): Promise<Again> {
    const { claim, node } = facts;
    const { deps } = this.#context;
    if (!isTerminated(claim)) {
      await this.#setConditions(facts, terminating('InstanceTerminated'));
      this.#tellTerminated(facts);
    }
    const kept = node === undefined ? [] : await releaseNode(deps.kube, node);
    if (node !== undefined && kept.length > 0) {
      const message = `waiting for Node ${node.name}, which is kept by ${kept.join(', ')}`;
      await this.#setConditions(facts, terminating('InstanceTerminated', message));
      return { afterMs: keptPauseMs };
    }
    const released = await releaseClaim(deps.kube, claim);
    if (released !== undefined) this.#times.ended(facts);
    return undefined;
  }

  #tellTerminated({ claim, node, endingSinceMs }: TerminationFacts): void {
    const cause = shownCauseOf(node);
    const decision: NewDecision = {
      ...claimFacts(claim, this.#context.cluster.priceNow(claim)),
      id: `terminate/${claim.uid}`,
      kind: 'terminate',
      reasons: [reasonOf(node)],
      facts: { cause, ...(node === undefined ? {} : { node: node.name }) },
      summary: `ended ${claim.name} and its instance ${instanceIdOf(claim) ?? '(none)'} (${cause})`,
    };
    const work = retiringSince(this.#context, { claim, node }, endingSinceMs);
    this.#context.decisions.tell(decision, work);
    traceRetired(this.#context, { claim, node, cause });
  }

  async #setConditions(
    { claim }: Pick<TerminationFacts, 'claim'>,
    ...wanted: readonly NewCondition[]
  ): Promise<void> {
    const { deps } = this.#context;
    if (wanted.every((condition) => holdsCondition(claim.conditions, condition))) return;
    const kube = kubeBy(deps, terminationDeadlineMs(claim));
    await writeConditions(kube, claim, wanted, deps.clock.nowMs());
  }
}
