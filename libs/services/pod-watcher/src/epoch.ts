import { limits, type StateValue, streamSpecs } from '@dovetail/contracts';
import { type DebugState, type Epoch, messageOf } from '@dovetail/core-ports';
import { FeedMirror, outrunEpoch, UnreadableObjects, untilDone, Wake } from '@dovetail/service-kit';

import { BatchQueue } from './batch-queue.js';
import { Batches } from './batches.js';
import type { PodWatcherConfig, PodWatcherDeps } from './config.js';
import { Intake } from './intake.js';
import { KindsInPart } from './kinds-in-part.js';
import { LauncherReports } from './launcher-reports.js';
import { Pending } from './pending.js';
import { ownKinds, type Source } from './sources.js';
import { StreamRoom } from './stream-room.js';

/**
 * The pause between comparisons with the stream itself, which find messages that someone deleted
 * one by one. Each reads the sequence of every subject, so it is rare. Until then a lost object
 * stays unknown.
 */
const auditMs = limits.tombstoneMs / 20;
/** A comparison that lasts longer is hung: each of its requests ends after seconds. */
const auditMsMax = 300_000;

/**
 * The part of a value that a reader of the feed uses. It omits kube-scheduler's word on a pod:
 * batches say which pods need a node, and a large deployment would be published twice over.
 */
const significant = (state: StateValue): StateValue =>
  state.kind === 'pod' ? { kind: 'pod', value: { ...state.value, unschedulable: false } } : state;

/** One epoch of a leading pod-watcher: watches in, state feed and batches out. */
export class PodWatcherEpoch {
  readonly #deps: PodWatcherDeps;
  readonly #config: PodWatcherConfig;
  readonly #epoch: Epoch;
  readonly #feed: FeedMirror;
  readonly #pending = new Pending();
  readonly #unreadable: UnreadableObjects;
  readonly #intake: Intake;
  readonly #kindsInPart: KindsInPart;
  readonly #reports: LauncherReports;
  readonly #queue: BatchQueue;

  constructor(
    deps: PodWatcherDeps,
    config: PodWatcherConfig,
    epoch: Epoch,
    sources: readonly Source[],
  ) {
    this.#deps = deps;
    this.#config = config;
    this.#epoch = epoch;
    const { channel, log, metrics } = deps;
    this.#feed = new FeedMirror({
      channel,
      log,
      metrics,
      epoch: epoch.number,
      onOutrun: outrunEpoch(epoch, { clock: channel.clock, log }),
      kinds: ownKinds,
      significant,
    });
    this.#unreadable = new UnreadableObjects(deps);
    const parts = {
      feed: this.#feed,
      pending: this.#pending,
      batches: new Batches(config),
      unreadable: this.#unreadable,
      wake: new Wake(channel.clock),
    };
    this.#intake = new Intake(deps, parts, sources);
    this.#kindsInPart = new KindsInPart(deps, parts, this.#intake);
    this.#reports = new LauncherReports(deps, parts);
    this.#queue = new BatchQueue(deps, config, parts, epoch.number);
  }

  /** Whether every watch has shown all its objects. Until then none of its kind is called gone. */
  get synced(): boolean {
    return this.#intake.synced;
  }

  /** Works until the epoch ends. */
  async run(): Promise<void> {
    const { channel, log } = this.#deps;
    const { stop } = this.#epoch;
    const { bus, cluster, clock } = channel;
    await untilDone(
      { clock, log },
      'the streams',
      () => bus.ensureStreams(streamSpecs(cluster)),
      stop,
    );
    await Promise.all([
      this.#intake.run(stop),
      this.#feed.run(stop),
      this.#reconcile(),
      this.#audit(),
      this.#reports.followState(stop),
      this.#reports.followCatalog(stop),
      this.#kindsInPart.run(stop),
      this.#queue.run(() => this.#kindsInPart.plannable(), stop),
    ]);
  }

  async #reconcile(): Promise<void> {
    const { channel, metrics } = this.#deps;
    const { stop } = this.#epoch;
    for (;;) {
      await channel.clock.sleep(this.#config.reconcileMs, stop);
      if (stop.aborted) return;
      const { incomplete } = this.#intake;
      this.#feed.reconcile({
        complete: (kind) => !incomplete.has(kind),
        isUnreadable: (uid) => this.#unreadable.has(uid),
      });
      metrics.set('dovetail_state_backlog', this.#feed.backlog);
      metrics.set('dovetail_pending_pods', this.#pending.count);
    }
  }

  async #audit(): Promise<void> {
    const { channel, log, vitals } = this.#deps;
    const { stop } = this.#epoch;
    const room = new StreamRoom(this.#deps);
    for (;;) {
      await channel.clock.sleep(auditMs, stop);
      if (stop.aborted) return;
      const compare = async (): Promise<void> => {
        await room.measure();
        // Without users of NATS, a stream that was lost is made again here. With them, this says
        // that one is missing.
        await channel.bus.ensureStreams(streamSpecs(channel.cluster));
        await this.#feed.audit();
      };
      await vitals
        .turn('feed-audit', auditMsMax, compare)
        .catch((error: unknown) =>
          log.debug('audit-failed', `the state stream could not be compared: ${messageOf(error)}`),
        );
    }
  }

  /** The state that this epoch believes, in numbers and names. */
  debugState(): DebugState {
    return {
      synced: this.synced,
      waitingFor: this.#intake.unsynced,
      pendingPods: this.#pending.count,
      round: this.#queue.round,
      position: this.#feed.position,
      backlog: this.#feed.backlog,
      unreadable: Object.fromEntries(this.#unreadable.faults()),
    };
  }
}
