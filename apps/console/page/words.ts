import { type Fill, shareOf } from '@dovetail/core-fleet/words';

/** Dollars an hour, `~` before an estimate, and a dash if it is unknown. */
export const priceText = (micros: number | undefined, isEstimated = false): string =>
  micros === undefined ? '–' : `${isEstimated ? '~' : ''}$${(micros / 1e6).toFixed(4)}/h`;

/** The share that is requested, in whole percent. */
export const percentOf = (fill: Fill): number => Math.round(shareOf(fill) * 100);

/** The share as text, and a dash for a node that has not said what it can give. */
export const percentText = (fill: Fill): string =>
  fill.allocatable === 0 ? '–' : `${String(percentOf(fill))} %`;

/** The time of day by the browser's clock and language. */
export const timeText = (atMs: number): string => new Date(atMs).toLocaleTimeString();

/** A pool's name. Its kind is said for a Provisioner alone, as in the terminal. */
export const poolText = (pool: string): string => pool.replace(/^NodePool\//, '');
