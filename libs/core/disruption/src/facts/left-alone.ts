import { isRecord } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from './refusal.js';

/** On a NodeClaim: for how long its node is left alone after a retirement in vain, as JSON. */
export const leftAloneAnnotation = 'dovetail.sh/left-alone';

/**
 * The pause of a claim after a retirement that was given up. It stands on the claim, so that the
 * next leader does not buy the same replacement in vain again at once.
 */
export type LeftAlone = {
  /** The end of the pause, in milliseconds since 1970. */
  readonly untilMs: number;
  /** Its length in milliseconds. The next pause in a row is longer. */
  readonly lengthMs: number;
  /** Why the retirement was given up, for people. */
  readonly why: string;
};

/**
 * No pause is longer, in milliseconds: a later end is another author's, or that of a wrong clock.
 */
const lengthMsMax = 24 * 3_600_000;

/**
 * Reads the annotation. Undefined: there is none, or the text is not ours, or its end is farther
 * away than any pause is long.
 */
export function parseLeftAlone(text: string | undefined, nowMs: number): LeftAlone | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { until, lengthMs, why } = value;
  const untilMs = typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (typeof lengthMs !== 'number' || typeof why !== 'string' || Number.isNaN(untilMs))
    return undefined;
  const isPossible = lengthMs > 0 && lengthMs <= lengthMsMax && untilMs <= nowMs + lengthMsMax;
  return isPossible ? { untilMs, lengthMs, why } : undefined;
}

/** Writes the annotation. */
export const renderLeftAlone = ({ untilMs, lengthMs, why }: LeftAlone): string =>
  JSON.stringify({ until: new Date(untilMs).toISOString(), lengthMs, why });

/** The note on a node that an earlier leader has left alone. */
export const leftAloneNote = ({ untilMs, why }: LeftAlone): DisruptionNote =>
  note('left-alone', why, { until: new Date(untilMs).toISOString() });
