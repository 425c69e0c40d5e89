import { limits, type PlanMessage, type PlanRecord } from '@dovetail/contracts';
import type { Hash } from '@dovetail/core-ports';
import {
  PartWriter,
  type Recorded,
  type RecordPart,
  writtenRecord,
} from '@dovetail/core-scheduling';

/** One step of a record: parts to keep, and at the end what names them. */
export type RecordSlice = {
  readonly parts: readonly RecordPart[];
  /** The record, once all its parts were given. */
  readonly record?: PlanRecord;
};

/** A plan's message without the plan, which its input makes again. */
type Origin = Omit<PlanMessage, 'plan'>;
/** A record that is being written. */
type Writing = { readonly origin: Origin; readonly steps: ReturnType<typeof writtenRecord> };
type Kept = { readonly origin: Origin; readonly recorded: Recorded };

/**
 * The most inputs that wait to be written. They share most of their objects, and a solver that
 * plans faster than it writes for longer leaves the oldest out.
 */
const waitingMax = 16;
/** The work of one slice: so many runs of a list, of some eight nodes each with their pods. */
const runsOfSlice = 4;

type Options = { readonly hash: Hash; readonly nowMs: () => number };

/**
 * Writes what plans were made from, in slices, so that other work goes on in between. A part that a
 * record before it has written is not written again while it is kept.
 */
export class Records {
  readonly #nowMs: () => number;
  readonly #writer: PartWriter;
  readonly #waiting = new Map<string, Kept>();
  /** When each part was written last, by its id, oldest first. */
  readonly #writtenMs = new Map<string, number>();
  #current: Writing | undefined;

  constructor({ hash, nowMs }: Options) {
    this.#nowMs = nowMs;
    this.#writer = new PartWriter(hash, (id) => this.#isKept(id));
  }

  /** Keeps the input of a plan until its record is written. */
  keep(origin: Origin, recorded: Recorded): void {
    this.#waiting.delete(origin.id);
    this.#waiting.set(origin.id, { origin, recorded });
    for (const id of this.#waiting.keys()) {
      if (this.#waiting.size <= waitingMax) break;
      this.#waiting.delete(id);
    }
  }

  /** The next slice of the record of this plan. Undefined: its input is not kept. */
  slice(planId: string): RecordSlice | undefined {
    const current = this.#begin(planId);
    if (current === undefined) return undefined;
    const parts: RecordPart[] = [];
    for (let run = 0; run < runsOfSlice;) {
      const { done, value } = current.steps.next();
      if (done === true) {
        this.#current = undefined;
        return { parts, record: { ...current.origin, input: value } };
      }
      if (value === undefined) run += 1;
      else parts.push(this.#noted(value));
    }
    return { parts };
  }

  /** Parts could not be kept: the next record writes all of them. */
  forget(): void {
    this.#current = undefined;
    this.#writtenMs.clear();
  }

  #begin(planId: string): Writing | undefined {
    if (this.#current?.origin.id === planId) return this.#current;
    const kept = this.#waiting.get(planId);
    this.#waiting.delete(planId);
    this.#current =
      kept === undefined
        ? undefined
        : { origin: kept.origin, steps: writtenRecord(kept.recorded, this.#writer) };
    return this.#current;
  }

  #noted(part: RecordPart): RecordPart {
    this.#writtenMs.delete(part.id);
    this.#writtenMs.set(part.id, this.#nowMs());
    return part;
  }

  #isKept(id: string): boolean {
    const oldestMs = this.#nowMs() - limits.recordPartAgeMs;
    for (const [each, atMs] of this.#writtenMs) {
      if (atMs > oldestMs) break;
      this.#writtenMs.delete(each);
    }
    return this.#writtenMs.has(id);
  }
}
