import type { FollowFrom, StreamPosition } from '@dovetail/core-ports';

/** The stream's first and last sequence, as the server told them. */
export type StreamEnds = { readonly firstSequence: number; readonly lastSequence: number };

/**
 * Idle heartbeats in a row, after the ends of the stream were told, until nothing before them can
 * be on its way. The first may have left the server before the ends did.
 */
const quietBeats = 2;

/**
 * The state that a follower keeps across reconnects: which messages were delivered, and the end of
 * the stream that was reported. Both are kept apart, because a follower resumes from what was
 * delivered.
 */
export class FollowMemory {
  readonly incarnation: string;
  /** Whether the first complete reading has ended. */
  caughtUp = false;
  aliveMs: number;
  readonly #startSequence: number;
  #deliveredSequence = 0;
  #reportedSequence: number;
  /**
   * Last sequence per subject that should still be in the stream. One that vanishes without a
   * successor was purged.
   */
  readonly #live = new Map<string, number>();
  /** The ends that were asked for, compared once everything up to them has arrived. */
  #ends: StreamEnds | undefined;
  /** Idle heartbeats in a row since the ends were told. */
  #beats = 0;

  constructor(begin: {
    readonly incarnation: string;
    readonly lastSequence: number;
    readonly nowMs: number;
  }) {
    this.incarnation = begin.incarnation;
    this.aliveMs = begin.nowMs;
    this.#startSequence = begin.lastSequence;
    this.#reportedSequence = begin.lastSequence;
  }

  get deliveredSequence(): number {
    return this.#deliveredSequence;
  }

  /** The end of the stream as far as it is known to be reached. */
  get position(): StreamPosition {
    return { incarnation: this.incarnation, lastSequence: this.#reportedSequence };
  }

  /** Whether the ends of the stream are still to be compared. */
  get isProbing(): boolean {
    return this.#ends !== undefined;
  }

  /** The sequence to go on from; undefined when nothing was read yet. */
  resumeFrom(from: FollowFrom): number | undefined {
    if (typeof from === 'object') return this.#resumeFromPlace(from);
    if (from === 'now') return Math.max(this.#deliveredSequence, this.#startSequence) + 1;
    if (!this.caughtUp && this.#deliveredSequence === 0) return undefined;
    return this.#deliveredSequence + 1;
  }

  #resumeFromPlace(from: Extract<FollowFrom, object>): number | undefined {
    if ('sequence' in from) return Math.max(this.#deliveredSequence + 1, from.sequence);
    return this.#deliveredSequence === 0 ? undefined : this.#deliveredSequence + 1;
  }

  /** A message was delivered. `live`: its subject should stay in the stream until the next one. */
  delivered(subject: string, sequence: number, live: boolean): void {
    this.#beats = 0;
    this.#deliveredSequence = Math.max(this.#deliveredSequence, sequence);
    this.#reportedSequence = Math.max(this.#reportedSequence, sequence);
    if (live) this.#live.set(subject, sequence);
    else this.#live.delete(subject);
  }

  /** The server told the ends of the stream. */
  told(ends: StreamEnds): void {
    this.#ends = ends;
    this.#beats = 0;
  }

  /** The consumer has nothing to deliver, and nothing of it is held back. */
  idle(): void {
    if (this.#ends !== undefined) this.#beats += 1;
  }

  /**
   * True when nothing is on its way and the stream's end is beyond the last message, because its
   * newest messages are gone again. The position is then at the end.
   */
  raise(): boolean {
    if (!this.caughtUp || this.#ends === undefined || this.#beats < quietBeats) return false;
    if (this.#ends.lastSequence <= this.#reportedSequence) return false;
    this.#reportedSequence = this.#ends.lastSequence;
    return true;
  }

  /**
   * Compares the expected subjects with the stream's beginning, once everything up to the ends has
   * come. True when one of them was purged.
   */
  isPurged(): boolean {
    const ends = this.#ends;
    if (ends === undefined) return false;
    if (this.#beats < quietBeats && this.#deliveredSequence < ends.lastSequence) return false;
    this.#ends = undefined;
    for (const sequence of this.#live.values()) if (sequence < ends.firstSequence) return true;
    return false;
  }
}
