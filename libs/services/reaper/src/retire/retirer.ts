import { annotations, labels, type NodeClaim, parsePromise } from '@dovetail/core-api';
import {
  type DisruptionNote,
  isTaintedDisrupted,
  livePromises,
  type NodeView,
  note,
  parseRetirement,
  type PodLookup,
  podsThatCount,
  replacementsOf,
  type Retirement,
  type RetirementStep,
  retirementStep,
  surelyFitsElsewhere,
} from '@dovetail/core-disruption';
import { isReschedulable, type Node, type Pod, podOf } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import { aboutClaim, aboutNode, type Again, claimFacts } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import {
  clearCondition,
  deleteClaim,
  writeConditions,
  writeDeadline,
} from '../outside/claim-edits.js';
import { readClaim, readNode, readPodsOn } from '../outside/live.js';
import { abandonRetirement, writeRetirement } from '../outside/node-edits.js';
import { askForReplacement } from './ask.js';

type Retired = NodeView & { readonly node: Node };

/**
 * Karpenter's condition of a claim whose node is to go, from the taint until it is gone or stays.
 */
const disruptionReason = 'DisruptionReason';

/** `expired` → `Expired`, as Events and conditions name causes. */
const titled = (cause: Retirement['cause']): string =>
  `${cause.charAt(0).toUpperCase()}${cause.slice(1)}`;

/**
 * Begins retirements and carries them on until their claim is deleted or they are given up. All
 * that must survive a crash is in the annotation on the Node, written before it is acted on.
 */
export class Retirer {
  readonly #context: ReaperContext;

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /**
   * Begins to retire a node: taint and annotation in one write. A claim without a node is deleted
   * at once. A retirement that is under way is replaced only by an interruption, which is the
   * stronger cause. Resolves once the beginning is recorded.
   */
  async begin(view: NodeView, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const { kube } = this.#context.deps;
    const claim = await readClaim(kube, view.claim.name);
    if (claim?.uid !== view.claim.uid) return;
    const node = await readNode({ kube, world: this.#context.world }, claim);
    if (claim.deletionMs !== undefined || node === undefined)
      return this.#endAtOnce({ ...view, claim }, retirement, why);
    const running = parseRetirement(node.annotations[annotations.retirement]);
    const isStronger = retirement.cause === 'interrupted' && running?.cause !== 'interrupted';
    if (running === undefined || isStronger) await this.#mark(claim, node, retirement, why);
  }

  /** Without a node that could carry the retirement, the claim itself does. */
  async #endAtOnce(view: NodeView, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const { kube } = this.#context.deps;
    const { claim } = view;
    if (retirement.deadlineMs !== undefined)
      await writeDeadline(kube, claim, retirement.deadlineMs);
    if (claim.deletionMs !== undefined) return;
    await deleteClaim(kube, claim);
    this.#tellDisrupted(view, retirement, why);
  }

  async #mark(
    claim: NodeClaim,
    node: Node,
    retirement: Retirement,
    { message }: DisruptionNote,
  ): Promise<void> {
    const { kube, clock, log } = this.#context.deps;
    const { cause } = retirement;
    await writeRetirement(kube, node, retirement);
    const condition = { type: disruptionReason, status: 'True', reason: titled(cause) } as const;
    await writeConditions(kube, claim, [{ ...condition, message }], clock.nowMs());
    log.info('retirement-began', `${node.name} is retired: ${message}`, {
      node: node.name,
      claim: claim.name,
      cause,
    });
  }

  /** Looks at a node that is being retired. Everything that it rests on is read live. */
  async look(name: string): Promise<Again> {
    const { deps, world } = this.#context;
    const claim = await readClaim(deps.kube, name);
    if (claim === undefined || claim.deletionMs !== undefined) return undefined;
    const node = await readNode({ kube: deps.kube, world }, claim);
    const retirement = parseRetirement(node?.annotations[annotations.retirement]);
    if (node === undefined || retirement === undefined) return undefined;
    if (!isTaintedDisrupted(node)) {
      // Somebody has taken the taint off and left the annotation: they want the node to stay.
      await this.#unmark(claim, node);
      return undefined;
    }
    const pods = await readPodsOn(deps.kube, node.name);
    const view: Retired = { ...world.viewOf(claim), claim, node, pods };
    return this.#do(await this.#stepOf(view, retirement), view, retirement);
  }

  async #stepOf(view: Retired, retirement: Retirement): Promise<RetirementStep> {
    const { deps, world, config } = this.#context;
    return retirementStep({
      retirement,
      view,
      replacements: replacementsOf(world.claims.values(), view.node.uid),
      limits: config.disruption,
      budgetsOf: world.budgetsOf,
      podOf: await this.#podLookup(view),
      nowMs: deps.clock.nowMs(),
      retiring: true,
    });
  }

  async #do(step: RetirementStep, view: Retired, retirement: Retirement): Promise<Again> {
    switch (step.kind) {
      case 'abandon':
        await this.#abandon(view, retirement, step.notes);
        return undefined;
      case 'end':
        await this.#end(view, retirement, step.note);
        return undefined;
      case 'ask':
        return this.#ask(view, retirement);
      case 'wait':
        this.#context.events.record({
          about: aboutNode(view.node),
          type: 'Normal',
          reason: 'DisruptionWaitingReadiness',
          message: 'Waiting on readiness to continue disruption',
        });
        return { afterMs: Math.max(1, step.untilMs - this.#context.deps.clock.nowMs()) };
    }
  }

  /** Promised pods may be younger than our watch: then all pods without a node are listed live. */
  async #podLookup({ claim, node }: Retired): Promise<PodLookup> {
    const { deps, world } = this.#context;
    const watched: PodLookup = (uid) => world.pods.get(uid);
    const promised = [claim, node].flatMap(
      (holder) => parsePromise(holder.annotations[annotations.promise])?.podUids ?? [],
    );
    if (promised.every((uid) => watched(uid) !== undefined)) return watched;
    const objects = await deps.kube.list(kubeResources.pods, { fieldSelector: 'spec.nodeName=' });
    const unbound = objects.flatMap((object): readonly Pod[] => {
      const pod = podOf(object);
      return pod.ok ? [pod.value] : [];
    });
    const byUid = new Map(unbound.map((pod) => [pod.uid, pod]));
    return (uid) => byUid.get(uid) ?? watched(uid);
  }

  async #unmark(claim: NodeClaim, node: Node): Promise<void> {
    const { kube } = this.#context.deps;
    await abandonRetirement(kube, node);
    await clearCondition(kube, claim, disruptionReason);
  }

  async #abandon(
    { claim, node }: Retired,
    { cause }: Retirement,
    notes: readonly DisruptionNote[],
  ): Promise<void> {
    const { deps, events } = this.#context;
    await this.#unmark(claim, node);
    deps.metrics.count('karpenter_voluntary_disruption_queue_failures_total', { reason: cause });
    const message = notes.map((one) => one.message).join('; ');
    deps.log.info('retirement-abandoned', `${node.name} stays: ${message}`, {
      node: node.name,
      claim: claim.name,
      reasons: notes.map(({ code }) => code),
    });
    events.record({ about: aboutNode(node), type: 'Normal', reason: 'DisruptionBlocked', message });
  }

  /** Deletes the claim; the terminator ends the node from here on. */
  async #end(view: Retired, retirement: Retirement, why?: DisruptionNote): Promise<void> {
    const { deps, events } = this.#context;
    const { claim, node } = view;
    if (retirement.deadlineMs !== undefined)
      await writeDeadline(deps.kube, claim, retirement.deadlineMs);
    await deleteClaim(deps.kube, claim);
    this.#tellDisrupted(view, retirement, why);
    const cause = titled(retirement.cause);
    for (const about of [aboutNode(node), aboutClaim(claim)])
      events.record({
        about,
        type: 'Normal',
        reason: 'DisruptionTerminating',
        message: `Disrupting ${about.kind}: ${cause}`,
      });
  }

  #tellDisrupted(view: NodeView, retirement: Retirement, why?: DisruptionNote): void {
    const { claim, node } = view;
    const { cause, detail, expects } = retirement;
    const name = node?.name ?? claim.name;
    this.#countDisrupted(claim, retirement);
    const inFull = `${name} is ${cause}${detail === undefined ? '' : ` (${detail})`}`;
    const successors = expects === undefined ? '' : `, ${String(expects)} new nodes take its pods`;
    this.#context.decisions.tell({
      ...claimFacts(claim),
      id: `disrupt/${claim.uid}`,
      kind: 'disrupt',
      reasons: [why ?? note(cause, inFull)],
      summary: `${name} is ended: ${cause}${successors}`,
      facts: {
        cause,
        ...(node === undefined ? {} : { node: node.name }),
        pods: String(view.pods.filter(isReschedulable).length),
      },
    });
  }

  #countDisrupted(claim: NodeClaim, { cause, detail, expects }: Retirement): void {
    const { metrics } = this.#context.deps;
    metrics.count('karpenter_nodeclaims_disrupted_total', {
      reason: detail ?? cause,
      nodepool: claim.pool.name,
      capacity_type: claim.labels[labels.capacityType] ?? '',
    });
    if (cause === 'interrupted') return;
    const decision = expects === undefined || expects === 0 ? 'delete' : 'replace';
    metrics.count('karpenter_voluntary_disruption_decisions_total', { reason: cause, decision });
  }

  /**
   * Asks for replacements. It is written first: after a crash in between, a successor waits until
   * no plan of the first asking can arrive any more.
   */
  async #ask(view: Retired, retirement: Retirement): Promise<Again> {
    const { deps, events } = this.#context;
    const { node } = view;
    const asked: Retirement = { ...retirement, askedMs: deps.clock.nowMs() };
    await writeRetirement(deps.kube, node, asked);
    events.record({
      about: aboutNode(node),
      type: 'Normal',
      reason: 'DisruptionLaunching',
      message: `Launching replacements for ${node.name}`,
    });
    const answered = await this.#answered(view, asked);
    if (answered !== undefined) await writeRetirement(deps.kube, node, answered);
    return { afterMs: 0 };
  }

  /** The retirement after asking; undefined when an answer may still come. */
  async #answered(view: Retired, asked: Retirement): Promise<Retirement | undefined> {
    const outcome = await askForReplacement(this.#context, view, asked.cause);
    if (outcome.kind === 'planned') {
      const expects = outcome.complete ? { expects: outcome.newNodes } : {};
      return { ...asked, answered: true, ...expects };
    }
    if (asked.cause === 'expired' && this.#hasRoom(view)) return { ...asked, expects: 0 };
    // A request that no solver took has planned nothing, so it may be repeated soon.
    return outcome.kind === 'not-taken' ? this.#askedEarlier(asked) : undefined;
  }

  /** Dated back, so that the next asking is due after the short pause. */
  #askedEarlier(asked: Retirement): Retirement {
    const { deps, config } = this.#context;
    const { askAgainMs, askAgainUrgentMs, askRetryMs } = config.disruption;
    const againMs = asked.deadlineMs === undefined ? askAgainMs : askAgainUrgentMs;
    return { ...asked, askedMs: deps.clock.nowMs() - againMs + askRetryMs };
  }

  #hasRoom(view: Retired): boolean {
    const { world, deps } = this.#context;
    const nowMs = deps.clock.nowMs();
    const lookup: PodLookup = (uid) => world.pods.get(uid);
    const hosts = world.views().flatMap((host) => {
      const { node, claim, pods } = host;
      if (node === undefined || node.uid === view.node.uid) return [];
      if (claim.deletionMs !== undefined) return [];
      return livePromises(host, lookup, nowMs).length > 0 ? [] : [{ node, pods }];
    });
    return surelyFitsElsewhere(podsThatCount(view.pods), hosts);
  }
}
