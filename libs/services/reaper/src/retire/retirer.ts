import { annotations, type NodeClaim } from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import {
  beginning,
  causeOf,
  type DisruptionNote,
  endDeadlineMs,
  isVoluntary,
  type NodeView,
  note,
  parseRetirement,
  type Retirement,
  type RetirementStep,
  taintsAtOnce,
} from '@dovetail/core-disruption';
import { at } from '@dovetail/core-invariant';
import type { Node } from '@dovetail/core-kube-model';
import { aboutClaim, aboutNode, type Again } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { kubeBy, type ReaperDeps } from '../deps.js';
import {
  clearCondition,
  deleteClaim,
  writeDeadline,
  writeWatchedCondition,
} from '../outside/claim-edits.js';
import { readClaim, readNode, readPodsOn, UnreadablePod } from '../outside/live.js';
import { abandonRetirement, changeRetirement, taintRetiring } from '../outside/node-edits.js';
import { tellDisrupted, titled } from './disrupted.js';
import { countAbandoned } from './disruption-counts.js';
import { PendingRetirements } from './pending-retirements.js';
import { ReplacementRequests } from './replacement-requests.js';
import { type Retired, stepOf, taintRemoved } from './steps.js';
import { endUnusedReplacements } from './unused-replacements.js';
import { VainRetirements } from './vain-retirements.js';

/** The steps that a look takes by itself. */
type OwnStep = Exclude<RetirementStep, { readonly kind: 'ask' }>;

/** A node that is being retired, and its next step as far as the watches show. */
type Seen = {
  readonly view: Retired;
  readonly retirement: Retirement;
  readonly step: RetirementStep;
};

/** Whether the node goes without a wait, and only if nothing is found against it at that moment. */
const isDecidedLive = (retirement: Retirement): boolean =>
  isVoluntary(retirement) && causeOf(retirement).places === 'ignored';

/** How long a watch may be behind the API server, usually. */
const behindMs = 1_000;

/**
 * Karpenter's condition of a claim whose node is to go, from the taint until it is gone or stays.
 */
const disruptionReason = 'DisruptionReason';

/**
 * Begins retirements and carries them on until their claim is deleted or they are given up. All
 * that must survive a crash is in the annotation on the Node, written before it is acted on.
 */
export class Retirer {
  readonly #context: ReaperContext;

  readonly #requests: ReplacementRequests;

  /** Nodes whose retirement is decided and perhaps not shown by the watch yet. */
  readonly pending: PendingRetirements;
  /** Claims that pause after their retirement was given up. */
  readonly vain: VainRetirements;

  constructor(context: ReaperContext) {
    this.pending = new PendingRetirements(context.cluster, context.deps.clock);
    this.#context = context;
    this.#requests = new ReplacementRequests(context);
    this.vain = new VainRetirements(context);
  }

  /**
   * Begins to retire a node: taint and annotation in one write. Beside a retirement that is under
   * way, the stronger cause and the earlier deadline count. A claim without a node is deleted at
   * once. Resolves once the beginning is recorded. The node counts as retiring from the call on.
   */
  async begin(view: NodeView, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const { cause, drainMs } = retirement;
    const begun = { claim: view.claim, cause, ...(drainMs === undefined ? {} : { drainMs }) };
    await this.pending.holding([begun], () => this.#begin(view, retirement, why));
  }

  async #begin(view: NodeView, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const { deps, cluster } = this.#context;
    const { cause, deadlineMs } = retirement;
    const kube = kubeBy(deps, deadlineMs);
    const stands =
      (await this.#mark(view.node, retirement)) ??
      (await this.#mark(await readNode(kube, cluster, view.claim), retirement));
    if (stands === undefined) return this.#endAtOnce(view.claim, retirement, why);
    this.pending.written(view.claim);
    if (stands.cause !== cause || stands.atMs !== retirement.atMs) return;
    const name = view.node?.name ?? view.claim.name;
    deps.log.info('retirement-began', `retiring ${name}: ${why.message}`, {
      node: name,
      claim: view.claim.name,
      cause,
    });
    await this.#setCondition(kube, view.claim, titled(cause), why.message);
  }

  /** The retirement that stands on the node afterwards; undefined when there is no such node. */
  async #mark(node: Node | undefined, wanted: Retirement): Promise<Retirement | undefined> {
    if (node === undefined) return undefined;
    const kube = kubeBy(this.#context.deps, wanted.deadlineMs);
    return changeRetirement(kube, node, beginning(wanted));
  }

  /** Without a node that could carry the retirement, the claim itself does. */
  async #endAtOnce(judged: NodeClaim, retirement: Retirement, why: DisruptionNote): Promise<void> {
    const kube = kubeBy(this.#context.deps, retirement.deadlineMs);
    const claim = await readClaim(kube, judged.name);
    if (claim?.uid !== judged.uid) return;
    if (retirement.deadlineMs !== undefined)
      await writeDeadline(kube, claim, retirement.deadlineMs);
    if (claim.deletionMs !== undefined) return;
    await deleteClaim(kube, claim);
    this.pending.written(claim);
    tellDisrupted(this.#context, { claim, pods: [] }, retirement, why);
  }

  async #setCondition(
    kube: ReaperDeps['kube'],
    claim: NodeClaim,
    reason: string,
    message: string,
  ): Promise<void> {
    const { clock } = this.#context.deps;
    const condition = { type: disruptionReason, status: 'True', reason, message } as const;
    await writeWatchedCondition(kube, claim, condition, clock.nowMs());
  }

  /**
   * Looks at a node that is being retired. The watches tell what to wait and to ask for. A node
   * that ends or stays is looked at live first. An answer of a solver takes long, so `onAsk` puts
   * the asking off.
   */
  async look(name: string, onAsk: (isUrgent: boolean) => void): Promise<Again> {
    const seen = await this.#seen(name);
    const step = seen?.step;
    if (seen === undefined || (step?.kind !== 'ask' && step?.kind !== 'wait'))
      return this.#confirm(name, seen);
    if (step.kind === 'wait') return this.#do(step, seen.view, seen.retirement);
    onAsk(seen.retirement.deadlineMs !== undefined);
    return this.#atLatest(step.limitMs);
  }

  /** Asks for the node's replacements, if that is still its next step. */
  async ask(name: string): Promise<Again> {
    const seen = await this.#seen(name);
    if (seen?.step.kind !== 'ask') return undefined;
    const { view, retirement } = seen;
    const asking = { ...view, retirement };
    const refused = await this.#requests.ask(asking, seen.step.pods, retirement.deadlineMs);
    // A node without haste gives its place to others. One with a deadline goes on asking.
    if (refused !== undefined && !causeOf(refused.retirement).takesOver)
      await this.abandon(refused.view, refused.retirement, [refused.note]);
    return undefined;
  }

  /**
   * The node as the watches show it, and its next step by them. Undefined where they do not
   * suffice: for an empty node, and where the annotation or the taint is not as we left it.
   */
  async #seen(name: string): Promise<Seen | undefined> {
    const { cluster } = this.#context;
    const claim = cluster.claims.one('name', name);
    if (claim === undefined || claim.deletionMs !== undefined) return undefined;
    const view = cluster.viewOf(claim);
    const { node } = view;
    const written = parseRetirement(node?.annotations[annotations.retirement]);
    if (node === undefined || written === undefined || isDecidedLive(written)) return undefined;
    if (taintsAtOnce(written) && !isTaintedDisrupted(node)) return undefined;
    const retirement = this.#requests.newest(node, written);
    const retired = { ...view, node };
    return { view: retired, retirement, step: await stepOf(this.#context, retired, retirement) };
  }

  /**
   * Takes a step that cannot be taken back. A node with a deadline ends whatever pods it has: it is
   * enough that its retirement still stands, and that the claim has the UID that was judged.
   */
  async #confirm(name: string, seen: Seen | undefined): Promise<Again> {
    const { deps, cluster } = this.#context;
    if (seen?.step.kind !== 'end' || seen.retirement.deadlineMs === undefined)
      return this.#lookLive(name);
    const { view, retirement } = seen;
    const node = await readNode(kubeBy(deps, retirement.deadlineMs), cluster, view.claim);
    const standing = parseRetirement(node?.annotations[annotations.retirement]);
    const isStanding = standing?.atMs === retirement.atMs && standing.cause === retirement.cause;
    if (node === undefined || !isStanding || !isTaintedDisrupted(node)) return this.#lookLive(name);
    await this.end({ ...view, node }, standing, seen.step.note);
    return undefined;
  }

  /** Decides again on what the API server has now, and takes the step unless it is to ask. */
  async #lookLive(name: string): Promise<Again> {
    const { deps, cluster } = this.#context;
    const kube = kubeBy(deps, this.#deadlineOf(name));
    const claim = await readClaim(kube, name);
    if (claim === undefined || claim.deletionMs !== undefined) return undefined;
    const node = await readNode(kube, cluster, claim);
    if (node?.annotations[annotations.retirement] === undefined) return undefined;
    const retirement = parseRetirement(node.annotations[annotations.retirement]);
    // Its author was a newer release, which is not here any more.
    if (retirement === undefined) return this.#unmark(claim, node);
    const watched: Retired = { ...cluster.viewOf(claim), claim, node };
    if (taintsAtOnce(retirement) && !isTaintedDisrupted(node)) {
      // Somebody has taken the taint off and left the annotation: they want the node to stay.
      await this.abandon(watched, retirement, [taintRemoved(node)]);
      return undefined;
    }
    try {
      const view = { ...watched, pods: await readPodsOn(kube, node.name) };
      const step = await stepOf(this.#context, view, retirement);
      // The watches are behind: their next change shows what is to be asked for.
      if (step.kind === 'ask') return { afterMs: behindMs };
      return await this.#do(step, view, retirement);
    } catch (error) {
      // A pod that cannot be read may speak against the end of its node.
      if (!(error instanceof UnreadablePod) || !isVoluntary(retirement)) throw error;
      await this.abandon(watched, retirement, [note('not-empty', error.message, {})]);
      return undefined;
    }
  }

  /** By when the claim's node must be gone, as the watch shows it: its reads overtake others. */
  #deadlineOf(name: string): number | undefined {
    const { cluster } = this.#context;
    const claim = cluster.claims.one('name', name);
    const node = claim === undefined ? undefined : cluster.nodeOfClaim(claim);
    return parseRetirement(node?.annotations[annotations.retirement])?.deadlineMs;
  }

  async #do(step: OwnStep, view: Retired, retirement: Retirement): Promise<Again> {
    switch (step.kind) {
      case 'abandon':
        await this.abandon(view, retirement, step.notes);
        return undefined;
      case 'end':
        await this.end(view, retirement, step.note);
        return undefined;
      case 'taint':
        await taintRetiring(this.#context.deps.kube, view.node);
        return { afterMs: 0 };
      case 'wait':
        this.#context.events.record({
          about: aboutNode(view.node),
          type: 'Normal',
          reason: 'DisruptionWaitingReadiness',
          message: 'Waiting on readiness to continue disruption',
        });
        return this.#atLatest(step.untilMs);
    }
  }

  #atLatest(untilMs: number): Again {
    const leftMs = Math.max(1, untilMs - this.#context.deps.clock.nowMs());
    return Number.isFinite(leftMs) ? { afterMs: leftMs } : undefined;
  }

  async #unmark(claim: NodeClaim, node: Node): Promise<undefined> {
    const { kube } = this.#context.deps;
    await abandonRetirement(kube, node, node.annotations[annotations.retirement]);
    await clearCondition(kube, claim, disruptionReason);
    return undefined;
  }

  /** Gives a retirement up: the node is a node like any other again. */
  async abandon(
    view: Retired,
    retirement: Retirement,
    notes: readonly DisruptionNote[],
  ): Promise<void> {
    const { deps, events } = this.#context;
    const { claim, node } = view;
    const { planId, answeredMs, atMs: sinceMs } = retirement;
    // A node may have been bought for it, and cost its price for as long.
    const isCostly = planId !== undefined || answeredMs !== undefined;
    await this.vain.pause(claim, at(notes, 0), { sinceMs, isCostly });
    // The annotation names the plan, so it stays until the last of its claims is asked to go.
    if (planId !== undefined) await endUnusedReplacements(this.#context, planId);
    await this.#unmark(claim, node);
    this.pending.release(claim);
    countAbandoned(deps.metrics, view, retirement);
    const message = notes.map((one) => one.message).join('; ');
    deps.log.info('retirement-abandoned', `${node.name} stays: ${message}`, {
      node: node.name,
      claim: claim.name,
      reasons: notes.map(({ code }) => code),
    });
    events.record({ about: aboutNode(node), type: 'Normal', reason: 'DisruptionBlocked', message });
  }

  /** Deletes the claim; the terminator ends the node from here on. */
  async end(view: Retired, retirement: Retirement, why?: DisruptionNote): Promise<void> {
    const { deps, events } = this.#context;
    const { claim, node } = view;
    const kube = kubeBy(deps, retirement.deadlineMs);
    const deadlineMs = endDeadlineMs(claim, retirement, deps.clock.nowMs());
    if (deadlineMs !== undefined) await writeDeadline(kube, claim, deadlineMs);
    await deleteClaim(kube, claim);
    tellDisrupted(this.#context, view, retirement, why);
    const cause = titled(retirement.cause);
    for (const about of [aboutNode(node), aboutClaim(claim)])
      events.record({
        about,
        type: 'Normal',
        reason: 'DisruptionTerminating',
        message: `Disrupting ${about.kind}: ${cause}`,
      });
  }
}
