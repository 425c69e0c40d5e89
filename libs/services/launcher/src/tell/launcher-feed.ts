import {
  admissionHeadUid,
  type AdmissionNumber,
  type Channel,
  followState,
  publishVerdict,
  type StateKind,
  type Verdict,
} from '@dovetail/contracts';
import type { Cluster } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';
import {
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import { FeedMirror, inParallel, Wake } from '@dovetail/service-kit';

import type { BusTime } from './bus-time.js';
import { holdersToCompare, podPromiseOf } from './live-promises.js';

/** The channel of the feed, the mirror of the cluster, and the epoch. */
export type LauncherFeedDeps = {
  readonly channel: Channel;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
  readonly cluster: Cluster;
  /** Learns the time of the bus from the messages that come. */
  readonly busTime: Pick<BusTime, 'stored'>;
  /** The number of the epoch: the first part of every generation. */
  readonly epoch: number;
  /** Called with the number of a higher epoch whose work is in the stream. */
  readonly onOutrun?: (epoch: number) => void;
};

/**
 * The kinds that the launcher keeps equal; verdicts are messages that leave the stream by
 * themselves.
 */
const kinds = ['promise', 'admission'] as const satisfies readonly StateKind[];
/** Promises also end with time, which no watch shows; and a lost stream fills within this time. */
const compareMs = 1_000;
/** How often the stream itself is read for messages that were deleted one by one. */
const auditMs = 10_000;
/** A reading that lasts longer is hung: each of its requests ends after seconds. */
const auditMsMax = 300_000;
/** Changes come in bursts; the changed promises are derived again once for each burst. */
const burstMs = 25;
/**
 * Verdicts published side by side: enough to fill a round trip to the bus, few beside its feeds.
 */
const verdictsInParallel = 32;

/**
 * The launcher's part of the state feed: the promises that bind now, the head of admissions, and
 * verdicts. Promises follow from the mirror of the cluster; a change of a claim, a node or a
 * promised pod is published within a burst.
 */
export class LauncherFeed {
  readonly #deps: LauncherFeedDeps;
  readonly #mirror: FeedMirror;
  readonly #changed: Wake;
  /** The promises that the mirror was given, as text by holder. */
  readonly #promises = new Map<string, string>();
  /** Holders whose promises may have changed since they were last derived, by UID. */
  #changedHolders = new Set<string>();
  /**
   * Whether head and promises have been set: until then, what the stream holds may still be right.
   */
  readonly #isComplete = { head: false, promises: false };

  constructor(deps: LauncherFeedDeps) {
    this.#deps = deps;
    this.#mirror = new FeedMirror({ ...deps, kinds });
    this.#changed = new Wake(deps.channel.clock);
  }

  /**
   * Each record outside the mirror gets a new generation; otherwise the bus would discard a repeat.
   */
  nextGeneration(): string {
    return this.#mirror.nextGeneration();
  }

  /** Publishes which admission was the last. Resolves when the stream holds it, or when stopped. */
  async publishHead(head: AdmissionNumber, stop: StopSignal): Promise<void> {
    this.#mirror.set(admissionHeadUid, { kind: 'admission', value: head });
    this.#isComplete.head = true;
    await this.#mirror.untilPublished('admission', [admissionHeadUid], stop);
  }

  /**
   * Publishes the outcomes of pods. Rejects with BusError: a plan must not be acked before its
   * verdicts are in the stream.
   */
  async publishVerdicts(verdicts: readonly Verdict[]): Promise<void> {
    await inParallel(verdicts, verdictsInParallel, (verdict) =>
      publishVerdict(this.#deps.channel, verdict, { generation: this.nextGeneration() }),
    );
  }

  /** Keeps the stream equal until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const unsubscribe = this.#wakeOnChanges();
    await Promise.all([
      this.#mirror.run(stop),
      this.#follow(stop),
      this.#derivePromises(stop),
      this.#compare(stop),
      this.#audit(stop),
    ]);
    unsubscribe();
  }

  #wakeOnChanges(): () => void {
    const { cluster } = this.#deps;
    this.#changedHolders = new Set([...this.#promises.keys(), ...cluster.promises.holders()]);
    this.#changed.raise();
    return cluster.subscribe(({ kind, uid }) => {
      if (kind === 'claim' || kind === 'node') this.#holdersChanged([uid]);
      if (kind === 'pod') this.#podChanged(uid);
    });
  }

  #podChanged(uid: string): void {
    const { promises } = this.#deps.cluster;
    this.#holdersChanged(promises.holdersOf(uid));
    // Readers leave out the share of a pod that has moved by themselves: that has time.
    for (const holderUid of promises.roomsOf(uid)) this.#changedHolders.add(holderUid);
  }

  #holdersChanged(uids: readonly string[]): void {
    for (const uid of uids) this.#changedHolders.add(uid);
    if (uids.length > 0) this.#changed.raise();
  }

  async #follow(stop: StopSignal): Promise<void> {
    for await (const event of followState(this.#deps.channel, stop, { kinds })) {
      if (event.kind === 'record') this.#deps.busTime.stored(event.timeMs);
      this.#mirror.heard(event);
    }
  }

  async #derivePromises(stop: StopSignal): Promise<void> {
    const { channel } = this.#deps;
    while (!stop.aborted) {
      await this.#changed.wait(stop);
      if (stop.aborted) return;
      const startedMs = channel.clock.nowMs();
      this.#derive(startedMs);
      this.#isComplete.promises = true;
      // With many promises it takes as long a pause as it worked.
      const tookMs = channel.clock.nowMs() - startedMs;
      await channel.clock.sleep(Math.max(burstMs, tookMs), stop);
    }
  }

  /** Derives the promises of the holders that changed, in order of their UIDs. */
  #derive(nowMs: number): void {
    const holders = [...this.#changedHolders].sort(compareText);
    this.#changedHolders = new Set();
    for (const holderUid of holders) {
      const promise = podPromiseOf(this.#deps.cluster, holderUid, nowMs);
      const text = promise === undefined ? undefined : JSON.stringify(promise);
      if (this.#promises.get(holderUid) === text) continue;
      if (promise === undefined || text === undefined) {
        this.#promises.delete(holderUid);
        this.#mirror.gone('promise', holderUid);
      } else {
        this.#promises.set(holderUid, text);
        this.#mirror.set(holderUid, { kind: 'promise', value: promise });
      }
    }
  }

  async #compare(stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    while (!stop.aborted) {
      await clock.sleep(compareMs, stop);
      for (const uid of holdersToCompare(this.#deps.cluster)) this.#changedHolders.add(uid);
      this.#changed.raise();
      const { head, promises } = this.#isComplete;
      this.#mirror.reconcile({ complete: () => head && promises });
    }
  }

  async #audit(stop: StopSignal): Promise<void> {
    const { channel, log, vitals } = this.#deps;
    while (!stop.aborted) {
      await channel.clock.sleep(auditMs, stop);
      if (stop.aborted) return;
      await vitals
        .turn('feed-audit', auditMsMax, () => this.#mirror.audit())
        .catch((error: unknown) =>
          log.warn(
            'state-not-compared',
            `reading the state feed failed: ${messageOf(error)}; trying again in ${String(auditMs / 1_000)} s`,
          ),
        );
    }
  }
}
