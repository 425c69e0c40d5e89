import {
  type Channel,
  publishState,
  type StateEvent,
  stateEventOf,
  type StateKind,
  type StateValue,
  streamName,
  subjects,
} from '@dovetail/contracts';
import { at } from '@dovetail/core-invariant';
import { BusError, type Log, messageOf, type Metrics, type StopSignal } from '@dovetail/core-ports';

import { Wake } from '../work/wake.js';
import { contentOf, goneContent } from './feed-content.js';
import { FeedLedger, type FeedPosition, type Held, kindOf, type Wanted } from './feed-ledger.js';
import { FeedRefusals } from './feed-refusals.js';

/** The part of the state feed that is kept equal, and under which epoch. */
export type FeedMirrorOptions = {
  readonly channel: Channel;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The number of the epoch: the first part of every generation. */
  readonly epoch: number;
  /** Called with the number of a higher epoch whose work is in the stream. */
  readonly onOutrun?: (epoch: number) => void;
  /** The kinds that this service writes. */
  readonly kinds: readonly StateKind[];
  /**
   * The part of a value whose change is worth a message. If absent: all but the resourceVersion.
   */
  readonly significant?: (state: StateValue) => StateValue;
};

/** Publishes on their way at once: enough to fill a round trip, few enough to stay responsive. */
const publishesMax = 128;
/**
 * Changes are gathered this long while others are on their way, and leave in one packet. Otherwise
 * a thousand pods at once would be a thousand packets. Measured.
 */
const gatherMs = 4;
/** Pause of all publishes while the bus is away. */
const retryMs = 100;

/**
 * Keeps a service's part of the state feed equal to the wanted state. Only changed content is
 * published.
 *
 * Each publish expects the last sequence of its subject, so a deposed leader cannot overwrite its
 * successor. A predecessor's value that still holds is left as it is.
 *
 * The owner says which objects exist (`set`, `gone`) and passes on the messages of a follower
 * (`heard`). It calls `reconcile` and `audit` at its own pace. Nothing is published before the
 * stream has been read to its end.
 */
export class FeedMirror {
  readonly #options: FeedMirrorOptions;
  readonly #ledger: FeedLedger;
  readonly #work: Wake;
  readonly #published: Wake;
  readonly #refusals: FeedRefusals;
  #pauseMs = 0;
  /** Publishes that the bus refused and that wait for their next try. */
  #resting = 0;
  /** Publishes on their way. */
  #publishing = 0;

  constructor(options: FeedMirrorOptions) {
    this.#options = options;
    const { channel, epoch, kinds, significant = (state: StateValue) => state } = options;
    this.#work = new Wake(channel.clock);
    this.#published = new Wake(channel.clock);
    this.#refusals = new FeedRefusals({ ...options, clock: channel.clock });
    this.#ledger = new FeedLedger({
      cluster: channel.cluster,
      epoch,
      kinds,
      contentOf: (state) => contentOf(significant(state), channel.hash),
      onDirty: () => this.#work.raise(),
    });
  }

  /** The stream's identity and the last sequence of it that is known here. */
  get position(): FeedPosition {
    return this.#ledger.position;
  }

  /** Subjects that are still to be published. */
  get backlog(): number {
    return this.#ledger.backlog;
  }

  /** Whether the stream holds every wanted value so far. */
  get settled(): boolean {
    return this.#ledger.isCaughtUp && this.#ledger.backlog === 0;
  }

  /** A generation for a record that the owner publishes beside the mirror. */
  nextGeneration(): string {
    return this.#ledger.nextGeneration();
  }

  /** The object now has this value. Nothing happens when its content is unchanged. */
  set(uid: string, state: StateValue): void {
    this.#ledger.set(uid, state);
  }

  /** The object no longer exists. */
  gone(kind: StateKind, uid: string): void {
    this.#ledger.gone(kind, uid);
  }

  /**
   * Takes a message that a follower of all own kinds has seen. Records of other services only move
   * the position.
   */
  heard(event: StateEvent): void {
    this.#ledger.heard(event);
    if (event.kind === 'caught-up') this.#renewLost();
    this.#published.raise();
  }

  /** Resolves when the stream holds the state of these objects, or when stopped. */
  async untilPublished(kind: StateKind, uids: readonly string[], stop: StopSignal): Promise<void> {
    // Every publish wakes this, so a wake looks at what is next only, not at all that is left.
    const left = uids.map((uid) => this.#subjectOf(kind, uid));
    for (;;) {
      while (left.length > 0 && this.#ledger.isPublished(at(left, left.length - 1))) left.pop();
      if (left.length === 0 || stop.aborted) return;
      await this.#published.wait(stop);
    }
  }

  /** Whether the stream holds the object's state, as far as it was set. */
  isPublished(kind: StateKind, uid: string): boolean {
    return this.#ledger.isPublished(this.#subjectOf(kind, uid));
  }

  #subjectOf(kind: StateKind, uid: string): string {
    return subjects.state(this.#options.channel.cluster, kind, uid);
  }

  /** Publishes the differences until stopped: many subjects at once, each subject in order. */
  async run(stop: StopSignal): Promise<void> {
    const { clock } = this.#options.channel;
    while (!stop.aborted) {
      const pauseMs = this.#pauseMs;
      this.#pauseMs = 0;
      if (pauseMs > 0) await clock.sleep(pauseMs, stop);
      if (this.#publishing > 0) await clock.sleep(gatherMs, stop);
      for (const subject of this.#ledger.take(publishesMax + this.#resting))
        void this.#publishTaken(subject, stop);
      await this.#work.wait(stop);
    }
  }

  async #publishTaken(subject: string, stop: StopSignal): Promise<void> {
    this.#publishing += 1;
    let restMs = 0;
    try {
      restMs = await this.#publish(subject);
    } finally {
      this.#publishing -= 1;
      if (restMs > 0) await this.#rest(restMs, stop);
      else this.#refusals.ended(subject);
      this.#ledger.release(subject);
      this.#published.raise();
    }
  }

  async #rest(restMs: number, stop: StopSignal): Promise<void> {
    this.#resting += 1;
    this.#work.raise();
    await this.#options.channel.clock.sleep(restMs, stop);
    this.#resting -= 1;
  }

  /** Returns how long the subject rests before its next try, in milliseconds; 0 if it need not. */
  async #publish(subject: string): Promise<number> {
    const { channel, metrics } = this.#options;
    const wanted = this.#ledger.wanted(subject);
    if (wanted === undefined || this.#isDeposed(subject)) return 0;
    const { losses } = this.#ledger;
    const expect = this.#ledger.held(subject)?.sequence ?? 0;
    try {
      const ack = await publishState(channel, wanted.record, { expect });
      if (losses === this.#ledger.losses) this.#hold(subject, wanted, ack.sequence);
      metrics.count('dovetail_state_published_total', { kind: kindOf(wanted.record) });
    } catch (error) {
      const isHopeless = !(error instanceof BusError) || error.code === 'too-large';
      if (isHopeless) this.#refuse(subject, wanted, error);
      else if (error.code === 'wrong-last-sequence') await this.#readAgain(subject, wanted);
      else if (error.code === 'unavailable' || error.code === 'timeout')
        this.#retryLater(subject, error);
      else return this.#refusals.refused(subject, error);
    }
    return 0;
  }

  #hold(subject: string, { record, content }: Wanted, sequence: number): void {
    const { generation, uid } = record;
    this.#ledger.hold(subject, { sequence, content, generation, kind: kindOf(record), uid });
  }

  /**
   * A successor has published here. A leader that wakes from a pause does not overwrite it. The
   * Lease knows whether it is one, or whether the Lease's counting has begun anew.
   */
  #isDeposed(subject: string): boolean {
    const { epoch, log } = this.#options;
    const heldEpoch = Number(this.#ledger.held(subject)?.generation.split('.')[0] ?? 0);
    if (heldEpoch <= epoch) return false;
    log.warn(
      'deposed',
      `the state feed has a leader of epoch ${String(heldEpoch)}; this leader is of epoch ${String(epoch)} and publishes nothing`,
      { subject },
    );
    this.#ledger.yield(subject);
    if (Number.isSafeInteger(heldEpoch)) this.#options.onOutrun?.(heldEpoch);
    return true;
  }

  #retryLater(subject: string, error: BusError): void {
    this.#pauseMs = retryMs;
    this.#options.log.debug(
      'state-telling-failed',
      `publishing ${subject} failed: ${error.message}; trying again`,
    );
  }

  /** A value that the wire cannot carry is not tried again until it changes. */
  #refuse(subject: string, { record, content }: Wanted, error: unknown): void {
    const sequence = this.#ledger.held(subject)?.sequence ?? 0;
    const { uid } = record;
    this.#ledger.holdAs(subject, { sequence, content, generation: '', kind: kindOf(record), uid });
    this.#options.metrics.count('dovetail_state_refused_total');
    this.#options.log.error(
      'state-not-encodable',
      `an object cannot be published: ${messageOf(error)}`,
      { subject },
    );
  }

  /** Another process has written to the subject. Read its value before writing again. */
  async #readAgain(subject: string, { record }: Wanted): Promise<void> {
    const { channel } = this.#options;
    const last = await channel.bus
      .lastMessage(streamName(channel.cluster, 'state'), subject)
      .catch(() => undefined);
    this.#ledger.unhold(subject);
    const event = last === undefined ? undefined : stateEventOf(channel.cluster, last);
    if (event?.kind === 'record') this.#ledger.heard(event);
    else if (last !== undefined) {
      // The value cannot be read, so no content is equal to it.
      const { sequence } = last;
      const [kind, { uid }] = [kindOf(record), record];
      this.#ledger.holdAs(subject, { sequence, content: '', generation: '', kind, uid });
    }
    this.#ledger.renew(subject);
  }

  #renewLost(): number {
    const lost = this.#ledger.renewLost();
    if (lost === 0) return 0;
    const { log, metrics } = this.#options;
    log.warn('state-lost', `the stream had lost ${String(lost)} objects; publishing them again`, {
      lost,
    });
    metrics.count('dovetail_state_repaired_total', {}, lost);
    return lost;
  }

  /**
   * Publishes again the subjects that the stream has lost. Returns the number of each kind of
   * repair.
   *
   * `complete` tells whether the owner has seen every object of a kind. Held subjects of such a
   * kind that are not wanted are published as gone, except for objects that exist and cannot be
   * read.
   */
  reconcile(options: {
    readonly complete: (kind: StateKind) => boolean;
    readonly isUnreadable?: (uid: string) => boolean;
  }): { readonly lost: number; readonly surplus: number } {
    if (!this.#ledger.isCaughtUp) return { lost: 0, surplus: 0 };
    const lost = this.#renewLost();
    const surplus = this.#surplus(options.isUnreadable).filter(({ kind }) =>
      options.complete(kind),
    );
    for (const { kind, uid } of surplus) this.#ledger.gone(kind, uid);
    if (surplus.length > 0)
      this.#options.metrics.count('dovetail_state_repaired_total', {}, surplus.length);
    return { lost, surplus: surplus.length };
  }

  /** Held values that nobody wants, except for objects that exist and cannot be read. */
  #surplus(isUnreadable: (uid: string) => boolean = () => false): readonly Held[] {
    const surplus: Held[] = [];
    for (const [subject, held] of this.#ledger.entries()) {
      const isWanted = held.content === goneContent || this.#ledger.isWanted(subject);
      if (!isWanted && !isUnreadable(held.uid)) surplus.push(held);
    }
    return surplus;
  }

  /**
   * Compares with the stream itself. This finds messages that someone deleted one by one, which a
   * follower cannot see. `reconcile` repairs the loss. Rejects with BusError.
   */
  async audit(): Promise<void> {
    const { channel, kinds } = this.#options;
    const { position } = this.#ledger;
    const stream = streamName(channel.cluster, 'state');
    const there = await Promise.all(
      kinds.map((kind) =>
        channel.bus.lastSequences(stream, subjects.stateOfKind(channel.cluster, kind)),
      ),
    );
    const isAnotherStream = this.#ledger.position.incarnation !== position.incarnation;
    if (isAnotherStream || !this.#ledger.isCaughtUp) return;
    for (const [subject, { sequence }] of this.#ledger.entries())
      if (sequence <= position.sequence && !there.some((held) => held.has(subject)))
        this.#ledger.unhold(subject);
  }
}
