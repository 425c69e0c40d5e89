import {
  messageIdOf,
  type StateEvent,
  type StateKind,
  type StateRecord,
  type StateValue,
  subjectOfRecord,
} from '@dovetail/contracts';
import { assert } from '@dovetail/core-invariant';

import { goneContent } from './feed-content.js';

/** The last message that the stream should hold of one subject. */
export type Wanted = { readonly record: StateRecord; readonly content: string };

/** The last message that the stream holds of one subject, as far as we know. */
export type Held = {
  readonly sequence: number;
  readonly content: string;
  readonly generation: string;
  readonly kind: StateKind;
  readonly uid: string;
};

/** The stream's identity and the last sequence of it that is known here. */
export type FeedPosition = { readonly incarnation: string; readonly sequence: number };

/** The part of the state feed that is booked, and under which epoch. */
export type FeedLedgerOptions = {
  readonly cluster: string;
  readonly epoch: number;
  /** The kinds that this service writes; records of all others are passed over. */
  readonly kinds: readonly StateKind[];
  /** The part of a value whose change is worth a message, as text. */
  readonly contentOf: (state: StateValue) => string;
  /** Called when there may be something to publish. */
  readonly onDirty: () => void;
};

/** The kind of state that a record is about, also when it says that the state is gone. */
export const kindOf = (record: StateRecord): StateKind =>
  record.kind === 'gone' ? record.stateKind : record.state.kind;

/**
 * The books of a `FeedMirror`: what the stream should hold, what it does hold, and which subjects
 * differ. It does no I/O.
 *
 * Invariants: once the stream has been read to its end, a subject is dirty or busy whenever its
 * wanted content differs from the held one. The `held` sequences of a subject only grow until a
 * reset.
 */
export class FeedLedger {
  readonly #options: FeedLedgerOptions;
  readonly #kinds: ReadonlySet<StateKind>;
  readonly #wanted = new Map<string, Wanted>();
  readonly #held = new Map<string, Held>();
  /** Subjects to publish. */
  readonly #dirty = new Set<string>();
  /** Subjects that are being published. */
  readonly #busy = new Set<string>();
  #generation = 0;
  #position: FeedPosition = { incarnation: '', sequence: 0 };
  #isCaughtUp = false;
  #losses = 0;

  constructor(options: FeedLedgerOptions) {
    this.#options = options;
    this.#kinds = new Set(options.kinds);
  }

  /** Whether the stream has been read to its end since it was last lost. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  get position(): FeedPosition {
    return this.#position;
  }

  /**
   * Counts losses of the stream. An ack from before a loss says nothing about the stream's content
   * now.
   */
  get losses(): number {
    return this.#losses;
  }

  /** Subjects that are still to be published, including those on their way. */
  get backlog(): number {
    return this.#dirty.size + this.#busy.size;
  }

  wanted(subject: string): Wanted | undefined {
    return this.#wanted.get(subject);
  }

  held(subject: string): Held | undefined {
    return this.#held.get(subject);
  }

  /** The subjects that the stream holds, with their content. Each may be dropped in its turn. */
  entries(): Iterable<readonly [string, Held]> {
    return this.#held.entries();
  }

  isWanted(subject: string): boolean {
    return this.#wanted.has(subject);
  }

  isPublished(subject: string): boolean {
    return this.#isCaughtUp && !this.#dirty.has(subject) && !this.#busy.has(subject);
  }

  /**
   * Each publish gets a new generation; otherwise the bus would discard a repeat as a duplicate.
   */
  nextGeneration(): string {
    this.#generation += 1;
    return `${String(this.#options.epoch)}.${String(this.#generation)}`;
  }

  /** The object now has this value. Nothing is published unless the content has changed. */
  set(uid: string, state: StateValue): void {
    this.#want({ kind: 'set', uid, state, generation: '' }, this.#options.contentOf(state));
  }

  gone(stateKind: StateKind, uid: string): void {
    this.#want({ kind: 'gone', stateKind, uid, generation: '' }, goneContent);
  }

  #want(record: StateRecord, content: string): void {
    assert(this.#kinds.has(kindOf(record)), 'a service writes only its own kinds of state');
    const subject = subjectOfRecord(this.#options.cluster, record);
    if (this.#wanted.get(subject)?.content === content) return;
    const generation = this.nextGeneration();
    this.#wanted.set(subject, { record: { ...record, generation }, content });
    this.#mark(subject);
  }

  /** Publish the same value again, under a new generation. */
  renew(subject: string): void {
    const wanted = this.#wanted.get(subject);
    if (wanted === undefined) return;
    const generation = this.nextGeneration();
    this.#wanted.set(subject, { ...wanted, record: { ...wanted.record, generation } });
    this.#mark(subject);
  }

  /** This service no longer publishes the subject; a successor does. */
  yield(subject: string): void {
    this.#wanted.delete(subject);
  }

  /** Takes up to `max` subjects to publish; each must be given back by `release`. */
  take(max: number): readonly string[] {
    if (!this.#isCaughtUp) return [];
    const taken: string[] = [];
    for (const subject of this.#dirty) {
      if (this.#busy.size >= max) break;
      if (this.#busy.has(subject)) continue;
      this.#dirty.delete(subject);
      this.#busy.add(subject);
      taken.push(subject);
    }
    return taken;
  }

  release(subject: string): void {
    this.#busy.delete(subject);
    this.#mark(subject);
  }

  /** The stream holds this of the subject. An older reading never replaces a newer one. */
  hold(subject: string, held: Held): void {
    this.#advance(held.sequence);
    if ((this.#held.get(subject)?.sequence ?? 0) < held.sequence) this.#held.set(subject, held);
  }

  /**
   * Records a held value that cannot be compared by sequence: refused content, or content that
   * cannot be read.
   */
  holdAs(subject: string, held: Held): void {
    this.#held.set(subject, held);
  }

  /** The stream does not hold the subject any more. */
  unhold(subject: string): void {
    this.#held.delete(subject);
  }

  /** Takes in the messages that a follower of the stream has seen. */
  heard(event: StateEvent): void {
    if (event.kind === 'reset') this.#lose();
    else if (event.kind === 'caught-up') {
      this.#isCaughtUp = true;
      const { incarnation, lastSequence } = event.position;
      this.#position = { incarnation, sequence: Math.max(this.#position.sequence, lastSequence) };
    } else if (event.kind === 'record') this.#hear(event.record, event.sequence);
  }

  #lose(): void {
    this.#losses += 1;
    this.#held.clear();
    this.#isCaughtUp = false;
    this.#position = { incarnation: '', sequence: 0 };
  }

  #hear(record: StateRecord, sequence: number): void {
    this.#advance(sequence);
    const subject = subjectOfRecord(this.#options.cluster, record);
    const kind = kindOf(record);
    if (!this.#kinds.has(kind) || (this.#held.get(subject)?.sequence ?? 0) >= sequence) return;
    const wanted = this.#wanted.get(subject);
    if (record.kind === 'gone' && wanted === undefined) {
      this.#held.delete(subject);
      return;
    }
    // Of a message of our own, the texts are there already.
    const isOwn = wanted !== undefined && messageIdOf(wanted.record) === messageIdOf(record);
    const content = isOwn ? wanted.content : this.#contentOf(record);
    const { generation, uid } = isOwn ? wanted.record : record;
    this.#held.set(subject, { sequence, content, generation, kind, uid });
    // Another writer has replaced the wanted value, so it must be published under a new generation.
    const isOverwritten =
      wanted !== undefined &&
      content !== wanted.content &&
      !this.#dirty.has(subject) &&
      !this.#busy.has(subject);
    if (isOverwritten) this.renew(subject);
    else if (this.#isCaughtUp) this.#mark(subject);
  }

  #contentOf(record: StateRecord): string {
    return record.kind === 'gone' ? goneContent : this.#options.contentOf(record.state);
  }

  #advance(sequence: number): void {
    if (sequence > this.#position.sequence) this.#position = { ...this.#position, sequence };
  }

  /**
   * Publishes again the subjects that the stream has lost, once it has been read to its end.
   * Returns their number.
   */
  renewLost(): number {
    if (!this.#isCaughtUp) return 0;
    let lost = 0;
    for (const [subject, wanted] of this.#wanted) {
      // Nearly all are as wanted. A large cluster has 60,000, and each is compared every second.
      const isAsWanted = this.#held.get(subject)?.content === wanted.content;
      if ((isAsWanted && !this.#dirty.has(subject)) || this.#busy.has(subject)) continue;
      const isLost =
        !this.#held.has(subject) && !this.#dirty.has(subject) && wanted.content !== goneContent;
      if (isLost) {
        lost += 1;
        this.renew(subject);
      } else this.#mark(subject);
    }
    return lost;
  }

  /** Marks the subject for publishing, unless the stream already holds the wanted content. */
  #mark(subject: string): void {
    const wanted = this.#wanted.get(subject);
    const held = this.#held.get(subject)?.content;
    // An absent subject means the same as a tombstone.
    const isSame =
      wanted === undefined ||
      held === wanted.content ||
      (wanted.content === goneContent && held === undefined && this.#isCaughtUp);
    if (!isSame) this.#dirty.add(subject);
    else if (this.#dirty.delete(subject) || wanted?.content === goneContent)
      this.#forgetGone(subject);
    this.#options.onDirty();
  }

  /** A tombstone that the stream holds needs no place here. */
  #forgetGone(subject: string): void {
    if (this.#busy.has(subject) || this.#wanted.get(subject)?.content !== goneContent) return;
    this.#wanted.delete(subject);
    this.#held.delete(subject);
  }
}
