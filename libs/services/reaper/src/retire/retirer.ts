import { annotations, labels, parsePromise } from '@dovetail/core-api';
import {
  isTaintedDisrupted, livePromises, note, parseRetirement, podsThatCount, replacementsOf, retirementStep, surelyFitsElsewhere, type DisruptionNote, type NodeView, type PodLookup, type Retirement,
} from '@dovetail/core-disruption';
import { isReschedulable, podOf, type Node, type Pod } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { clearCondition, deleteClaim, writeConditions, writeDeadline } from '../effects/claim-edits.js';
import { claimFacts } from '../effects/decisions.js';
import { aboutClaim, aboutNode } from '../effects/events.js';
import { abandonRetirement, writeRetirement } from '../effects/node-edits.js';
import { readClaim, readNode, readPodsOn } from '../end/facts.js';
import type { Again } from '../loop/looks.js';
import { askForReplacement } from './ask.js';

type Retired = NodeView & { readonly node: Node };

/** Karpenter's condition of a claim whose node is to go, from the taint on until it is gone or given up. */
const disruptionReason = 'DisruptionReason';
const titled = (cause: Retirement['cause']): string => `${cause[0]?.toUpperCase() ?? ''}${cause.slice(1)}`;

/**
 * Begins retirements and carries them on until their claim is deleted, or they are given up. All that must survive a crash stands in
 * the annotation on the Node, written before what it speaks of is done.
 */
export class Retirer {
  readonly #reaping: Reaping;

  constructor(reaping: Reaping) { this.#reaping = reaping; }

  /**
   * Begins to retire a node: taint and annotation in one write. A claim without a node is deleted at once. A retirement that is
   * under way is replaced only by an interruption, which is the stronger cause. Returns once the beginning is recorded.
   */
  async begin(view: NodeView, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const { deps } = this.#reaping;
    const claim = await readClaim(deps.kube, view.claim.name);
    if (claim?.uid !== view.claim.uid) return;
    const node = await readNode(this.#reaping, claim);
    if (claim.deletionMs !== undefined || node === undefined) {
      // Without a node there is nothing that could carry the retirement: the claim itself does.
      if (retirement.deadlineMs !== undefined) await writeDeadline(deps.kube, claim, retirement.deadlineMs);
      if (claim.deletionMs !== undefined) return;
      await deleteClaim(deps.kube, claim);
      this.#tellDisrupted({ ...view, claim }, retirement, why);
      return;
    }
    const running = parseRetirement(node.annotations[annotations.retirement]);
    if (running !== undefined && (retirement.cause !== 'interrupted' || running.cause === 'interrupted')) return;
    await writeRetirement(deps.kube, node, retirement);
    await writeConditions(deps.kube, claim, [{ type: disruptionReason, status: 'True', reason: titled(retirement.cause), message: why.message }], deps.clock.nowMs());
    deps.log.info('retirement-began', `${node.name} is retired: ${why.message}`, { node: node.name, claim: claim.name, cause: retirement.cause });
  }

  /** One look at a node whose annotation says that it is being retired: everything it rests on is read live. */
  async look(name: string): Promise<Again> {
    const { deps, world, config } = this.#reaping;
    const claim = await readClaim(deps.kube, name);
    if (claim === undefined || claim.deletionMs !== undefined) return undefined;
    const node = await readNode(this.#reaping, claim);
    const retirement = parseRetirement(node?.annotations[annotations.retirement]);
    if (node === undefined || retirement === undefined) return undefined;
    if (!isTaintedDisrupted(node)) {
      // Somebody has taken the taint away and left the annotation: they want the node to stay, or must retire it again.
      await abandonRetirement(deps.kube, node);
      await clearCondition(deps.kube, claim, disruptionReason);
      return undefined;
    }
    const view: Retired = { ...world.viewOf(claim), claim, node, pods: await readPodsOn(deps.kube, node.name) };
    const step = retirementStep({
      retirement, view, replacements: replacementsOf(world.claims.values(), node.uid), limits: config.disruption,
      budgetsOf: world.budgetsOf, podOf: await this.#podLookup(view), nowMs: deps.clock.nowMs(), retiring: true,
    });
    switch (step.kind) {
      case 'abandon': await this.#abandon(view, retirement, step.notes); return undefined;
      case 'end': await this.#end(view, retirement, step.note); return undefined;
      case 'ask': return this.#ask(view, retirement);
      case 'wait':
        this.#reaping.events.write({ about: aboutNode(node), type: 'Normal', reason: 'DisruptionWaitingReadiness', message: 'Waiting on readiness to continue disruption' });
        return { afterMs: Math.max(1, step.untilMs - deps.clock.nowMs()) };
    }
  }

  /** Promised pods that the watch does not know may be younger than it: then the API server is asked for every pod without a node. */
  async #podLookup({ claim, node }: Retired): Promise<PodLookup> {
    const { deps, world } = this.#reaping;
    const promised = [claim, node].flatMap((holder) => parsePromise(holder.annotations[annotations.promise])?.podUids ?? []);
    if (promised.every((uid) => world.pods.get(uid) !== undefined)) return (uid) => world.pods.get(uid);
    const unbound = (await deps.kube.list(kubeResources.pods, { fieldSelector: 'spec.nodeName=' })).flatMap((object): readonly Pod[] => {
      const pod = podOf(object);
      return pod.ok ? [pod.value] : [];
    });
    const byUid = new Map(unbound.map((pod) => [pod.uid, pod]));
    return (uid) => byUid.get(uid) ?? world.pods.get(uid);
  }

  async #abandon(view: Retired, retirement: Retirement, notes: readonly DisruptionNote[]): Promise<void> {
    const { deps, events } = this.#reaping;
    await abandonRetirement(deps.kube, view.node);
    await clearCondition(deps.kube, view.claim, disruptionReason);
    deps.metrics.count('karpenter_voluntary_disruption_queue_failures_total', { reason: retirement.cause });
    const message = notes.map((one) => one.message).join('; ');
    deps.log.info('retirement-abandoned', `${view.node.name} stays: ${message}`, { node: view.node.name, claim: view.claim.name, reasons: notes.map(({ code }) => code) });
    events.write({ about: aboutNode(view.node), type: 'Normal', reason: 'DisruptionBlocked', message });
  }

  /** The claim is deleted; ending the node is termination's from here on. */
  async #end(view: Retired, retirement: Retirement, why?: DisruptionNote): Promise<void> {
    const { deps, events } = this.#reaping;
    if (retirement.deadlineMs !== undefined) await writeDeadline(deps.kube, view.claim, retirement.deadlineMs);
    await deleteClaim(deps.kube, view.claim);
    this.#tellDisrupted(view, retirement, why);
    const cause = titled(retirement.cause);
    events.write({ about: aboutNode(view.node), type: 'Normal', reason: 'DisruptionTerminating', message: `Disrupting Node: ${cause}` });
    events.write({ about: aboutClaim(view.claim), type: 'Normal', reason: 'DisruptionTerminating', message: `Disrupting NodeClaim: ${cause}` });
  }

  #tellDisrupted(view: NodeView, retirement: Retirement, why?: DisruptionNote): void {
    const { deps, decisions } = this.#reaping;
    const { claim } = view;
    const reason = why ?? note(retirement.cause, `${view.node?.name ?? claim.name} is ${retirement.cause}${retirement.detail === undefined ? '' : ` (${retirement.detail})`}`);
    deps.metrics.count('karpenter_nodeclaims_disrupted_total', { reason: retirement.detail ?? retirement.cause, nodepool: claim.pool.name, capacity_type: claim.labels[labels.capacityType] ?? '' });
    if (retirement.cause !== 'interrupted') deps.metrics.count('karpenter_voluntary_disruption_decisions_total', { reason: retirement.cause, decision: retirement.expects === undefined || retirement.expects === 0 ? 'delete' : 'replace' });
    decisions.tell({
      ...claimFacts(claim), id: `disrupt/${claim.uid}`, kind: 'disrupt', reasons: [reason],
      summary: `${view.node?.name ?? claim.name} is ended: ${retirement.cause}${retirement.expects === undefined ? '' : `, ${String(retirement.expects)} new nodes take its pods`}`,
      facts: { cause: retirement.cause, ...(view.node === undefined ? {} : { node: view.node.name }), pods: String(view.pods.filter(isReschedulable).length) },
    });
  }

  /** Written first, asked then: after a crash in between a successor waits until no plan of the first asking can arrive any more. */
  async #ask(view: Retired, retirement: Retirement): Promise<Again> {
    const { deps, config, events } = this.#reaping;
    const asked: Retirement = { ...retirement, askedMs: deps.clock.nowMs() };
    await writeRetirement(deps.kube, view.node, asked);
    events.write({ about: aboutNode(view.node), type: 'Normal', reason: 'DisruptionLaunching', message: `Launching replacements for ${view.node.name}` });
    const outcome = await askForReplacement(this.#reaping, view, retirement.cause);
    if (outcome.kind === 'planned') {
      await writeRetirement(deps.kube, view.node, { ...asked, answered: true, ...(outcome.complete ? { expects: outcome.newNodes } : {}) });
      return { afterMs: 0 };
    }
    if (retirement.cause === 'expired' && this.#hasRoom(view)) {
      await writeRetirement(deps.kube, view.node, { ...asked, expects: 0 });
      return { afterMs: 0 };
    }
    // A request that nobody took has planned nothing: it may be repeated soon. One whose answer was lost may have.
    if (outcome.kind === 'not-taken') {
      const { askAgainMs, askAgainUrgentMs, askRetryMs } = config.disruption;
      const againMs = retirement.deadlineMs === undefined ? askAgainMs : askAgainUrgentMs;
      await writeRetirement(deps.kube, view.node, { ...asked, askedMs: deps.clock.nowMs() - againMs + askRetryMs });
    }
    return { afterMs: 0 };
  }

  #hasRoom(view: Retired): boolean {
    const { world } = this.#reaping;
    const nowMs = this.#reaping.deps.clock.nowMs();
    const lookup: PodLookup = (uid) => world.pods.get(uid);
    const hosts = world.views().flatMap((host) => (host.node === undefined || host.node.uid === view.node.uid || host.claim.deletionMs !== undefined || livePromises(host, lookup, nowMs).length > 0 ? [] : [{ node: host.node, pods: host.pods }]));
    return surelyFitsElsewhere(podsThatCount(view.pods), hosts);
  }
}
