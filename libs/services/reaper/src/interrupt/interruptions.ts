import { annotations, type NodeClaim, tags } from '@dovetail/core-api';
import { instanceIdOfProvider } from '@dovetail/core-cluster';
import {
  type InterruptionFacts,
  type InterruptionStep,
  interruptionStep,
  policyOf,
} from '@dovetail/core-disruption';
import { type InterruptionNotice, parseInterruption } from '@dovetail/core-ec2-model';
import {
  type Instance,
  type InterruptionQueue,
  kubeResources,
  messageOf,
  type QueueMessage,
  type StopSignal,
} from '@dovetail/core-ports';
import { Gathered, inParallel, type LoopTurn, tryTurn } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import type { ClusterIdentity } from '../outside/identity.js';
import type { Retirer } from '../retire/retirer.js';
import { applyInterruption } from './apply.js';

/** `done`: the message may be deleted; `later`: the queue gives it again. */
type Outcome = 'done' | 'later';

/**
 * How soon to look again whether the first lists have come. A look only reads memory; messages stay
 * in the queue meanwhile.
 */
const syncPauseMs = 100;
/** Instances of one message that are handled side by side: a health event may name hundreds. */
const instancesMax = 10;
/** Messages come in bursts: one list of claims answers for all of a burst. */
const liveListMs = 1_000;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const queueTurn: LoopTurn = {
  loop: 'interruption',
  msMax: 300_000,
  failure: 'queue-unreachable',
  what: 'the interruption queue cannot be read',
};

/** The most messages that one receive brings (the limit of SQS). */
const handful = 10;

/**
 * The interruption loop: its own, waiting for nothing else. A message is deleted only once its
 * effect is in the Kubernetes API. Until then the queue gives it again, and doing it twice changes
 * nothing.
 */
export class Interruptions {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #identity: ClusterIdentity;
  readonly #helpers = new Set<Promise<void>>();
  #deletions: Gathered<ReadonlySet<string>> | undefined;
  #live: { readonly atMs: number; readonly instances: Promise<ReadonlySet<string>> } | undefined;

  constructor(context: ReaperContext, retirer: Retirer, identity: ClusterIdentity) {
    this.#context = context;
    this.#retirer = retirer;
    this.#identity = identity;
  }

  /**
   * Handles messages until stopped. Before the first lists of claims and nodes, an unknown instance
   * may be ours.
   */
  async run(queue: InterruptionQueue, stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    const { receivers } = config.interruption;
    void this.#identity.learnAccount(stop);
    const isReady = (): boolean => cluster.isSynced('claim') && cluster.isSynced('node');
    // A message we have not received keeps its visibility, so waiting here hides none.
    while (!stop.aborted && !isReady()) await deps.clock.sleep(syncPauseMs, stop);
    await Promise.all(Array.from({ length: receivers }, () => this.#receive(queue, stop)));
    await Promise.all(this.#helpers);
  }

  /**
   * One receiver: a burst of notices has several, so that no message waits for another's effect.
   */
  async #receive(queue: InterruptionQueue, stop: StopSignal): Promise<void> {
    const { deps, config } = this.#context;
    const { retryMs } = config.interruption;
    while (!stop.aborted) {
      const turned = await tryTurn(deps, queueTurn, () => this.#receiveOnce(queue, stop));
      if (turned.kind === 'failed') await deps.clock.sleep(retryMs, stop);
    }
  }

  /** Handles one receive, and says how many messages it brought. Rejects if it fails. */
  async #receiveOnce(queue: InterruptionQueue, stop: StopSignal): Promise<number> {
    const messages = await queue.receive(stop);
    if (messages.length >= handful) this.#callHelper(queue, stop);
    await Promise.all(messages.map((message) => this.#handle(queue, message, stop)));
    return messages.length;
  }

  /** A full receive shows that more messages wait. A helper takes them until one brings none. */
  #callHelper(queue: InterruptionQueue, stop: StopSignal): void {
    const { receivers, receiversMax } = this.#context.config.interruption;
    const { vitals } = this.#context.deps;
    if (receivers + this.#helpers.size >= receiversMax) return;
    const help = async (): Promise<void> => {
      const once = (): Promise<number> => this.#receiveOnce(queue, stop);
      while (!stop.aborted && (await vitals.turn(queueTurn.loop, queueTurn.msMax, once)) > 0);
    };
    // The lasting receivers tell of a queue that cannot be read.
    const helper = help()
      .catch(() => undefined)
      .finally(() => this.#helpers.delete(helper));
    this.#helpers.add(helper);
  }

  /** Deletes in batches. Answers the receipts that remain in the queue. */
  #deletionsOf(queue: InterruptionQueue): Gathered<ReadonlySet<string>> {
    this.#deletions ??= new Gathered(
      this.#context.deps.clock,
      this.#context.config.interruption.deleteGatherMs,
      async (receipts) => new Set(await queue.delete(receipts)),
    );
    return this.#deletions;
  }

  async #handle(queue: InterruptionQueue, message: QueueMessage, stop: StopSignal): Promise<void> {
    const { metrics, clock, log } = this.#context.deps;
    try {
      if ((await this.#outcomeOf(message, stop)) === 'later') return;
      if ((await this.#deletionsOf(queue).ask(message.receipt, stop)).has(message.receipt)) return;
      metrics.count('karpenter_interruption_deleted_messages_total');
      metrics.observe(
        'karpenter_interruption_message_queue_duration_seconds',
        (clock.nowMs() - message.sentMs) / 1_000,
      );
    } catch (error) {
      log.warn(
        'interruption-failed',
        `handling an interruption message failed: ${messageOf(error)}; the queue gives it again`,
        { receives: message.receives },
      );
    }
  }

  async #outcomeOf(message: QueueMessage, stop: StopSignal): Promise<Outcome> {
    const { metrics, log } = this.#context.deps;
    const parsed = parseInterruption(message.body);
    const kind = parsed.kind === 'notice' ? parsed.notice.kind : parsed.kind;
    metrics.count('karpenter_interruption_received_messages_total', { message_type: kind });
    switch (parsed.kind) {
      case 'irrelevant':
        return 'done';
      case 'unknown':
        log.warn(
          'interruption-unknown',
          `dropped a message of unknown kind: ${parsed.source} ${parsed.detailType} version ${parsed.version}`,
        );
        return 'done';
      case 'malformed':
        log.warn(
          'interruption-malformed',
          `dropped a message that is no EventBridge event: ${parsed.reason}`,
        );
        return 'done';
      case 'notice':
        return this.#handleNotice(parsed.notice, message, stop);
    }
  }

  async #handleNotice(
    notice: InterruptionNotice,
    message: QueueMessage,
    stop: StopSignal,
  ): Promise<Outcome> {
    if (this.#isOfAnotherAccount(notice)) return 'done';
    const outcomes: Outcome[] = [];
    await inParallel(notice.instanceIds, instancesMax, async (id) => {
      outcomes.push(await this.#handleInstance(notice, id, message, stop));
    });
    return outcomes.includes('later') ? 'later' : 'done';
  }

  #isOfAnotherAccount({ kind, accountId, region }: InterruptionNotice): boolean {
    const own = this.#identity.account();
    if (own === undefined || (accountId === own.accountId && region === own.region)) return false;
    const { metrics, log } = this.#context.deps;
    metrics.count('dovetail_interruption_foreign_total', { what: 'account-or-region' });
    log.warn(
      'interruption-foreign',
      `dropped a ${kind} of account ${accountId}, region ${region}; ours are ${own.accountId}, ${own.region}`,
    );
    return true;
  }

  async #handleInstance(
    notice: InterruptionNotice,
    id: string,
    { receives }: QueueMessage,
    stop: StopSignal,
  ): Promise<Outcome> {
    const { deps, config } = this.#context;
    const claim = this.#claimOf(id);
    const policy = policyOf(notice, deps.clock.nowMs(), config.interruption);
    const facts: InterruptionFacts = {
      hasClaim: claim !== undefined,
      ending: policy.ending,
      receives,
    };
    const step = await this.#stepOf(facts, id, stop);
    if (step === 'apply' && claim !== undefined)
      await applyInterruption(this.#context, this.#retirer, { policy, claim, notice });
    if (step === 'foreign') this.#reportForeign(notice, id);
    if (step === 'drop') this.#reportDropped(notice, id, receives);
    return step === 'later' ? 'later' : 'done';
  }

  /** The claim of the instance; of several (a copy names it too), the one that has the node. */
  #claimOf(id: string): NodeClaim | undefined {
    const { cluster } = this.#context;
    const claims = cluster.claims.by('instance', id);
    return claims.find((claim) => cluster.nodeOfClaim(claim) !== undefined) ?? claims[0];
  }

  /** Decides; asks EC2 and the API server only about instances that no claim of ours has. */
  async #stepOf(facts: InterruptionFacts, id: string, stop: StopSignal): Promise<InterruptionStep> {
    const { collection, interruption } = this.#context.config;
    const patience = {
      claimAgeMinMs: collection.claimAgeMinMs,
      receivesMax: interruption.receivesMax,
    };
    const first = interruptionStep(facts, patience);
    if (first !== 'ask-cloud') return first;
    const shown = await this.#context.instances.shown(id, stop);
    const asked = { ...facts, instance: await this.#ownershipOf(shown) };
    const second = interruptionStep(asked, patience);
    if (second !== 'ask-claims') return second;
    return interruptionStep({ ...asked, isClaimedLive: await this.#isClaimed(id) }, patience);
  }

  async #ownershipOf(
    instance: Instance | undefined,
  ): Promise<NonNullable<InterruptionFacts['instance']>> {
    if (instance === undefined) return { kind: 'missing' };
    const { deps, config } = this.#context;
    const isOurs =
      instance.tags[tags.clusterUid] === (await this.#identity.clusterUid()) &&
      instance.tags[tags.clusterName] === config.clusterName;
    const ageMs = deps.clock.nowMs() - instance.launchedMs;
    return isOurs ? { kind: 'ours', ageMs } : { kind: 'foreign' };
  }

  /** Whether a claim has the instance on the API server now: the watch may be behind EC2. */
  async #isClaimed(id: string): Promise<boolean> {
    const nowMs = this.#context.deps.clock.nowMs();
    if (this.#live === undefined || nowMs - this.#live.atMs > liveListMs)
      this.#live = { atMs: nowMs, instances: this.#claimedInstances() };
    return (await this.#live.instances).has(id);
  }

  async #claimedInstances(): Promise<ReadonlySet<string>> {
    const { kube, urgentKube = kube } = this.#context.deps;
    const claims = await urgentKube.list(kubeResources.nodeClaims);
    return new Set(
      claims.flatMap((claim) => {
        const { providerID } = (claim['status'] ?? {}) as { readonly providerID?: string };
        const annotated = claim.metadata.annotations?.[annotations.instanceId];
        return [annotated, instanceIdOfProvider(providerID)].filter((id) => id !== undefined);
      }),
    );
  }

  #reportForeign({ kind }: InterruptionNotice, id: string): void {
    const { metrics, log } = this.#context.deps;
    metrics.count('dovetail_interruption_foreign_total', { what: 'instance' });
    log.info('interruption-foreign', `dropped a ${kind} of ${id}, which is not ours`, {
      instance: id,
    });
  }

  #reportDropped({ kind }: InterruptionNotice, id: string, receives: number): void {
    this.#context.deps.log.warn(
      'interruption-dropped',
      `dropped a ${kind} of ${id}: after ${String(receives)} receives no claim has the instance`,
      { instance: id },
    );
  }
}
