import { causeOf } from '../causes/cause.js';
import type { Retirement } from '../facts/retirement-record.js';

/**
 * The resource of the command that a node is to go with. Undefined: it goes alone, or for a cause
 * that has taken over from the command.
 */
export const commandOfRetirement = (
  retirement: Pick<Retirement, 'cause' | 'drainMs' | 'disruption'> | undefined,
): string | undefined =>
  retirement === undefined || causeOf(retirement).takesOver ? undefined : retirement.disruption;

/** A change of the record: the retirement to write, or undefined when the live one stays. */
export type RetirementChange = (live: Retirement | undefined) => Retirement | undefined;

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/**
 * Begins a retirement beside one that may be under way. An interruption or a repair by force takes
 * over from every other cause and keeps what was already planned. That a solver found no place for
 * the pods is forgotten: it may be long ago. Of two of them the earlier deadline counts. Any other
 * cause leaves a running retirement alone.
 */
export const beginning =
  (wanted: Retirement): RetirementChange =>
  (live) => {
    if (live === undefined) return wanted;
    if (!causeOf(wanted).takesOver) return undefined;
    const deadlineMs = earlier(live.deadlineMs, wanted.deadlineMs);
    if (causeOf(live).takesOver && deadlineMs === live.deadlineMs) return undefined;
    const { answeredMs: _answeredMs, unplaced: _unplaced, ...unanswered } = live;
    const kept = live.unplaced === undefined ? live : unanswered;
    return { ...kept, ...wanted, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
  };

/**
 * Notes that a solver is being asked, as decided when it was last asked at `lastMs`. A retirement
 * that was given up meanwhile stays given up, and one that was asked for meanwhile is not again.
 */
export const asking =
  (askedMs: number, lastMs: number | undefined): RetirementChange =>
  (live) =>
    live === undefined || live.askedMs !== lastMs ? undefined : { ...live, askedMs };

/**
 * The part of a retirement that an answer fills in. An answer of a solver says with `unplaced` how
 * many pods have no place; 0 when all have one.
 */
export type RetirementAnswer = Pick<Retirement, 'askedMs' | 'unplaced' | 'answeredMs'>;

/**
 * Merges the answer into the retirement that still waits for this asking; others ignore it. The
 * time of the first answer stays.
 */
export const answering =
  (askedMs: number, answer: RetirementAnswer): RetirementChange =>
  (live) => {
    if (live?.askedMs !== askedMs) return undefined;
    const { unplaced, ...rest } = { ...live, ...answer };
    return {
      ...rest,
      ...(unplaced === undefined || unplaced === 0 ? {} : { unplaced }),
      ...(live.answeredMs === undefined ? {} : { answeredMs: live.answeredMs }),
    };
  };
