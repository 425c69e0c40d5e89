import { annotations, labels, tags, type NodeClaim } from '@dovetail/core-api';
import { instanceIdOfProvider, note } from '@dovetail/core-disruption';
import { parseInterruption, type InterruptionNotice } from '@dovetail/core-ec2-model';
import { kubeResources, type Instance, type InterruptionQueue, type QueueMessage, type StopSignal } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { claimFacts } from '../effects/decisions.js';
import { aboutClaim, aboutNode } from '../effects/events.js';
import type { ClusterIdentity } from '../identity.js';
import type { Retirer } from '../retire/retirer.js';
import { policyOf, type InterruptionPolicy } from './policy.js';

/** Whether a message is dealt with and may be deleted, or must come again. */
type Outcome = 'done' | 'later';

const syncPauseMs = 100;
/** Messages come in bursts: one list of claims answers for all of a burst. */
const liveListMs = 1_000;

/**
 * The interruption loop: its own, waiting for nothing else. A message is deleted only once what it calls for stands in the
 * Kubernetes API; until then the queue gives it again, and doing it twice changes nothing.
 */
export class Interruptions {
  readonly #reaping: Reaping;
  readonly #retirer: Retirer;
  readonly #identity: ClusterIdentity;
  #live: { readonly atMs: number; readonly instances: Promise<ReadonlySet<string>> } | undefined;

  constructor(reaping: Reaping, retirer: Retirer, identity: ClusterIdentity) {
    this.#reaping = reaping;
    this.#retirer = retirer;
    this.#identity = identity;
  }

  async run(queue: InterruptionQueue, stop: StopSignal): Promise<void> {
    const { deps, config, world } = this.#reaping;
    void this.#identity.learnAccount(config.interruption.retryMs, stop);
    // Before the first complete lists an instance that we do not know may be ours all the same; a message that is not received yet is not hidden either.
    while (!stop.aborted && !world.synced()) await deps.clock.sleep(syncPauseMs, stop);
    while (!stop.aborted) {
      try {
        const messages = await queue.receive(stop);
        await Promise.all(messages.map((message) => this.#deal(queue, message)));
      } catch (error) {
        deps.metrics.count('dovetail_loop_failures_total', { loop: 'interruption' });
        deps.log.warn('queue-unreachable', `the interruption queue cannot be read: ${String(error)}; trying again in ${String(config.interruption.retryMs / 1000)} s`);
        await deps.clock.sleep(config.interruption.retryMs, stop);
      }
    }
  }

  async #deal(queue: InterruptionQueue, message: QueueMessage): Promise<void> {
    const { deps } = this.#reaping;
    try {
      if ((await this.#outcomeOf(message)) === 'later') return;
      await queue.delete(message.receipt);
      deps.metrics.count('karpenter_interruption_deleted_messages_total');
      deps.metrics.observe('karpenter_interruption_message_queue_duration_seconds', (deps.clock.nowMs() - message.sentMs) / 1000);
    } catch (error) {
      deps.log.warn('interruption-failed', `an interruption message could not be dealt with: ${String(error)}; the queue gives it again`, { receives: message.receives });
    }
  }

  async #outcomeOf(message: QueueMessage): Promise<Outcome> {
    const { deps } = this.#reaping;
    const parsed = parseInterruption(message.body);
    const kind = parsed.kind === 'notice' ? parsed.notice.kind : parsed.kind;
    deps.metrics.count('karpenter_interruption_received_messages_total', { message_type: kind });
    switch (parsed.kind) {
      case 'irrelevant': return 'done';
      case 'unknown': deps.log.warn('interruption-unknown', `a message of unknown kind is dropped: ${parsed.source} ${parsed.detailType} version ${parsed.version}`); return 'done';
      case 'malformed': deps.log.warn('interruption-malformed', `a message that is no EventBridge event is dropped: ${parsed.reason}`); return 'done';
      case 'notice': return this.#notice(parsed.notice, message);
    }
  }

  async #notice(notice: InterruptionNotice, message: QueueMessage): Promise<Outcome> {
    const { deps } = this.#reaping;
    const own = this.#identity.account();
    if (own !== undefined && (notice.accountId !== own.accountId || notice.region !== own.region)) {
      deps.metrics.count('dovetail_interruption_foreign_total', { what: 'account-or-region' });
      deps.log.warn('interruption-foreign', `a ${notice.kind} of account ${notice.accountId}, region ${notice.region} is not ours (${own.accountId}, ${own.region}) and is dropped`);
      return 'done';
    }
    const instances = new Map((await deps.cloud.instancesById(notice.instanceIds)).map((instance) => [instance.id, instance]));
    const outcomes = await Promise.all(notice.instanceIds.map((id) => this.#instance(notice, id, instances.get(id), message)));
    return outcomes.includes('later') ? 'later' : 'done';
  }

  async #instance(notice: InterruptionNotice, id: string, instance: Instance | undefined, message: QueueMessage): Promise<Outcome> {
    const { deps, config, world } = this.#reaping;
    const claim = world.claims.one('instance', id);
    const policy = policyOf(notice, deps.clock.nowMs(), config.interruption);
    const ours = instance !== undefined && instance.tags[tags.clusterUid] === await this.#identity.clusterUid() && instance.tags[tags.clusterName] === config.clusterName;
    if (instance !== undefined && !ours) return this.#foreign(notice, id);
    // EC2 shows only what is in our account and region. Of an instance that it shows no more, the notice's account must say so.
    if (claim !== undefined && (ours || (policy.ending && this.#identity.account() !== undefined))) {
      await this.#apply(policy, claim, notice);
      return 'done';
    }
    // The end of an instance without a claim is mostly the end that we gave it. Of a young one, which EC2 may not show yet, the claim may not have been seen.
    const young = instance === undefined || deps.clock.nowMs() - instance.launchedMs < config.collection.claimAgeMinMs;
    if (claim === undefined && (instance === undefined || policy.ending) && !(young && (await this.#isClaimed(id)))) return this.#foreign(notice, id);
    // Ours and not paired yet, or paired and not shown by EC2 yet: seconds make the difference.
    if (message.receives < config.interruption.receivesMax) return 'later';
    deps.log.warn('interruption-dropped', `a ${notice.kind} of ${id} is dropped: after ${String(message.receives)} receives ${claim === undefined ? 'no claim has' : 'EC2 does not show'} the instance`, { instance: id });
    return 'done';
  }

  /** Whether a claim has the instance, as the API server says now: the watch may be behind what EC2 tells. */
  async #isClaimed(id: string): Promise<boolean> {
    const nowMs = this.#reaping.deps.clock.nowMs();
    if (this.#live === undefined || nowMs - this.#live.atMs > liveListMs) this.#live = { atMs: nowMs, instances: this.#claimedInstances() };
    return (await this.#live.instances).has(id);
  }

  async #claimedInstances(): Promise<ReadonlySet<string>> {
    const claims = await this.#reaping.deps.kube.list(kubeResources.nodeClaims);
    return new Set(claims.flatMap((claim) => {
      const { providerID } = (claim['status'] ?? {}) as { readonly providerID?: string };
      return [claim.metadata.annotations?.[annotations.instanceId], instanceIdOfProvider(providerID)].filter((instance) => instance !== undefined);
    }));
  }

  #foreign(notice: InterruptionNotice, id: string): Outcome {
    this.#reaping.deps.metrics.count('dovetail_interruption_foreign_total', { what: 'instance' });
    this.#reaping.deps.log.info('interruption-foreign', `a ${notice.kind} of ${id}, which is not ours, is dropped`, { instance: id });
    return 'done';
  }

  async #apply(policy: InterruptionPolicy, claim: NodeClaim, notice: InterruptionNotice): Promise<void> {
    const { world, deps } = this.#reaping;
    // Our own terminations are announced too.
    if (policy.ending && claim.deletionMs !== undefined) return;
    // Said first: the replacement must not be planned onto what is being taken away.
    if (policy.avoidSpot) this.#avoid(claim);
    if (policy.retire !== undefined) {
      const atMs = deps.clock.nowMs();
      await this.#retirer.begin(world.viewOf(claim), { cause: 'interrupted', atMs, detail: policy.name, ...policy.retire }, note('interruption-notice', policy.message, { kind: notice.kind }));
    }
    this.#tell(policy, claim, notice);
  }

  #avoid(claim: NodeClaim): void {
    const { deps, config, decisions } = this.#reaping;
    const [instanceType, zone] = [claim.labels[labels.instanceType], claim.labels[labels.zone]];
    if (instanceType === undefined || zone === undefined) return;
    decisions.avoid({ instanceType, zone, capacityType: 'spot', untilMs: deps.clock.nowMs() + config.interruption.avoidMs, awsCode: 'SpotInterruption', failures: 1 });
  }

  #tell(policy: InterruptionPolicy, claim: NodeClaim, notice: InterruptionNotice): void {
    const { events, decisions, world } = this.#reaping;
    const node = world.nodeOfClaim(claim);
    for (const about of [aboutClaim(claim), ...(node === undefined ? [] : [aboutNode(node)])]) {
      events.write({ about, type: policy.type, reason: policy.event, message: policy.message });
      if (policy.retire !== undefined) events.write({ about, type: 'Warning', reason: 'TerminatingOnInterruption', message: 'Interruption triggered termination for the NodeClaim/Node' });
    }
    decisions.tell({
      ...claimFacts(claim), id: `interrupt/${claim.uid}/${notice.kind}/${String(notice.timeMs)}`, kind: 'interrupt',
      summary: `${node?.name ?? claim.name}: ${policy.message}`,
      reasons: [note('interruption-notice', policy.message, { kind: notice.kind, noticeMs: notice.timeMs })],
      facts: { kind: policy.name, effect: policy.retire === undefined ? 'event' : 'retire' },
    });
  }
}
