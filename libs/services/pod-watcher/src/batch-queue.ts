import { type PendingBatch, placeOfBatch, publishBatch, recordSpan } from '@dovetail/contracts';
import { assert } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import { messageOf, Stopper, type StopSignal } from '@dovetail/core-ports';

import type { Cut } from './batches.js';
import type { PodWatcherConfig, PodWatcherDeps } from './config.js';
import type { Parts } from './parts.js';

/**
 * After a look at the pending pods, other work gets this many times as long. With many pods
 * pending, looking would otherwise take all the time and leave none for reading. A higher value
 * delays batches.
 */
const looksShare = 4;
/** Pause after the queue refused a batch. Its pods are cut again afterwards. */
const againMs = 250;
/**
 * How long a batch waits for the records of its pods. The bus takes one in milliseconds, and none
 * while its stream is full. A batch is then sent without the pods whose records it does not have.
 */
const recordsMs = 10_000;
/** A publish that lasts longer is hung: each call to the bus gives up after 5 seconds. */
const publishMsMax = 120_000;

/** Cuts the pending pods into batches and queues them for the solvers. */
export class BatchQueue {
  readonly #deps: PodWatcherDeps;
  readonly #config: PodWatcherConfig;
  readonly #parts: Parts;
  readonly #epoch: number;
  #round = 0;
  /** The groups whose batch is on its way, each beside the others. */
  readonly #onTheirWay = new Map<string, Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(deps: PodWatcherDeps, config: PodWatcherConfig, parts: Parts, epoch: number) {
    this.#deps = deps;
    this.#config = config;
    this.#parts = parts;
    this.#epoch = epoch;
  }

  /** The number of the last batch of this epoch. */
  get round(): number {
    return this.#round;
  }

  /**
   * Cuts and queues until `stop`. `plannable` tells which pods may be planned; undefined: none,
   * because a group is complete only after every watch that it needs has been read.
   */
  async run(plannable: () => ((pod: Pod) => boolean) | undefined, stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    const { wake } = this.#parts;
    while (!stop.aborted && this.#failure === undefined) {
      wake.clear();
      const startMs = clock.nowMs();
      const isPlannable = plannable();
      const next = isPlannable === undefined ? { cuts: [] } : this.#cut(startMs, isPlannable);
      const lookMs = clock.nowMs() - startMs;
      for (const cut of next.cuts) this.#send(cut, stop);
      const times = [next.nextMs, this.#parts.pending.nextMs(startMs)];
      const nextMs = Math.min(...times.filter((each) => each !== undefined));
      await wake.wait(stop, Math.max(1, nextMs - clock.nowMs()));
      // A burst of events causes one look, not one each.
      await clock.sleep(Math.max(this.#config.settleMs, looksShare * lookMs), stop);
    }
    await Promise.all(this.#onTheirWay.values());
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** A group that waits for the bus holds up no other. Its pods are cut again later. */
  #send(cut: Cut, stop: StopSignal): void {
    if (this.#onTheirWay.has(cut.group)) return;
    const sending = this.#queue(cut, stop)
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#parts.wake.raise();
      })
      .finally(() => this.#onTheirWay.delete(cut.group));
    this.#onTheirWay.set(cut.group, sending);
  }

  #cut(
    nowMs: number,
    isPlannable: (pod: Pod) => boolean,
  ): { readonly cuts: readonly Cut[]; readonly nextMs?: number } {
    const { pending, batches } = this.#parts;
    const groups = pending.groups(nowMs, isPlannable);
    return batches.cut(groups, (pods) => pending.arrivalOf(pods, nowMs), nowMs);
  }

  async #queue(cut: Cut, stop: StopSignal): Promise<void> {
    const { channel, vitals } = this.#deps;
    const known = await this.#withRecords(cut, stop);
    if (stop.aborted) return;
    if (known.pods.length === 0)
      return this.#giveUp(cut, new Error('the state feed does not take its pods'), stop);
    const batch = this.#batchOf(known);
    try {
      await vitals.turn('batches', publishMsMax, () => publishBatch(channel, batch));
    } catch (error) {
      await this.#giveUp(known, error, stop);
      return;
    }
    this.#report(known, batch);
  }

  /**
   * The cut with the pods that the feed holds. The batch names the position that a mirror must
   * reach to know them, so the feed must hold them before the batch leaves.
   */
  async #withRecords(cut: Cut, stop: StopSignal): Promise<Cut> {
    const { feed, batches } = this.#parts;
    const limit = new Stopper(stop);
    void this.#deps.channel.clock.sleep(recordsMs, limit).then(() => limit.abort());
    await feed.untilPublished(
      'pod',
      cut.pods.map(({ uid }) => uid),
      limit,
    );
    limit.abort();
    const pods = cut.pods.filter(({ uid }) => feed.isPublished('pod', uid));
    if (stop.aborted || pods.length === 0 || pods.length === cut.pods.length)
      return { ...cut, pods };
    const held = new Set(pods);
    const missing = cut.pods.filter((pod) => !held.has(pod));
    for (const { uid } of missing) batches.settled(uid);
    this.#deps.log.warn(
      'batch-incomplete',
      `the state feed does not take ${missing.length} pods of group ${cut.group}; the others are planned without them`,
      { group: cut.group, pods: missing.map(({ uid }) => uid) },
    );
    return { ...cut, pods };
  }

  #batchOf({ group, pods }: Cut): PendingBatch {
    assert(pods.length > 0, 'a batch has pods');
    this.#round += 1;
    return {
      group,
      podUids: pods.map(({ uid }) => uid),
      round: `${this.#epoch}.${this.#round}`,
      statePosition: this.#parts.feed.position,
      cutAtMs: this.#deps.channel.clock.nowMs(),
      youngestMs: pods.reduce((youngest, pod) => Math.max(youngest, pod.createdMs), -Infinity),
    };
  }

  #report({ group, pods, sinceMs }: Cut, batch: PendingBatch): void {
    const { log, metrics, channel } = this.#deps;
    const { round } = batch;
    recordSpan(channel, {
      ...placeOfBatch(channel, batch),
      name: 'batch',
      startMs: sinceMs,
      endMs: channel.clock.nowMs(),
      attributes: {
        'dovetail.group': group,
        'dovetail.round': round,
        'dovetail.pods': pods.length,
      },
    });
    metrics.count('dovetail_batches_total');
    metrics.observe('dovetail_batch_pods', pods.length);
    log.info('batch', `${pods.length} pods of group ${group} wait for a plan`, {
      group,
      pods: pods.length,
      round,
    });
  }

  /** No solver will see this batch, so no verdict will come. The next look cuts its pods again. */
  async #giveUp({ group, pods }: Cut, error: unknown, stop: StopSignal): Promise<void> {
    const { batches, wake } = this.#parts;
    for (const pod of pods) batches.settled(pod.uid);
    this.#deps.log.warn(
      'batch-not-queued',
      `the batch of group ${group} could not be queued: ${messageOf(error)}; it is cut again`,
    );
    await this.#deps.channel.clock.sleep(againMs, stop);
    wake.raise();
  }
}
