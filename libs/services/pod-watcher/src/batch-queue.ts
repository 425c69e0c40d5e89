import { type PendingBatch, publishBatch } from '@dovetail/contracts';
import { assert } from '@dovetail/core-invariant';
import { messageOf, type StopSignal } from '@dovetail/core-ports';

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
/** A publish that lasts longer is hung: each call to the bus gives up after 5 seconds. */
const publishMsMax = 120_000;

/** Cuts the pending pods into batches and queues them for the solvers. */
export class BatchQueue {
  readonly #deps: PodWatcherDeps;
  readonly #config: PodWatcherConfig;
  readonly #parts: Parts;
  readonly #epoch: number;
  #round = 0;

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
   * Cuts and queues until `stop`, once `synced`. A group is complete only after every watch has
   * been read.
   */
  async run(synced: () => boolean, stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    const { wake } = this.#parts;
    while (!stop.aborted) {
      wake.clear();
      const startMs = clock.nowMs();
      const next = synced() ? this.#cut(startMs) : { cuts: [] };
      const lookMs = clock.nowMs() - startMs;
      for (const cut of next.cuts) await this.#queue(cut, stop);
      const times = [next.nextMs, this.#parts.pending.nextMs(startMs)];
      const nextMs = Math.min(...times.filter((each) => each !== undefined));
      await wake.wait(stop, Math.max(1, nextMs - clock.nowMs()));
      // A burst of events causes one look, not one each.
      await clock.sleep(Math.max(this.#config.settleMs, looksShare * lookMs), stop);
    }
  }

  #cut(nowMs: number): { readonly cuts: readonly Cut[]; readonly nextMs?: number } {
    const { pending, batches } = this.#parts;
    return batches.cut(pending.groups(nowMs), (pods) => pending.arrivalOf(pods, nowMs), nowMs);
  }

  async #queue(cut: Cut, stop: StopSignal): Promise<void> {
    const { channel, vitals } = this.#deps;
    // The batch names the position that a mirror must reach to know these pods. So the feed must
    // hold them before the batch leaves.
    const podUids = cut.pods.map((pod) => pod.uid);
    await this.#parts.feed.untilPublished('pod', podUids, stop);
    if (stop.aborted) return;
    const batch = this.#batchOf(cut, podUids);
    try {
      await vitals.turn('batches', publishMsMax, () => publishBatch(channel, batch));
    } catch (error) {
      await this.#giveUp(cut, error, stop);
      return;
    }
    this.#report(cut, batch);
  }

  #batchOf({ group, pods }: Cut, podUids: readonly string[]): PendingBatch {
    assert(pods.length > 0, 'a batch has pods');
    this.#round += 1;
    return {
      group,
      podUids,
      round: `${this.#epoch}.${this.#round}`,
      statePosition: this.#parts.feed.position,
      cutAtMs: this.#deps.channel.clock.nowMs(),
      youngestMs: pods.reduce((youngest, pod) => Math.max(youngest, pod.createdMs), -Infinity),
    };
  }

  #report({ group, pods }: Cut, { round }: PendingBatch): void {
    const { log, metrics } = this.#deps;
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
