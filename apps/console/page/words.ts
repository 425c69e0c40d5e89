import { countText, dollarsText, type Fill, shareOf } from '@dovetail/core-fleet/words';
import type { GapRow } from '@dovetail/service-console/view';

/** Dollars an hour, `~` before an estimate, and a dash if it is unknown. */
export const priceText = (micros: number | undefined, isEstimated = false): string =>
  micros === undefined ? '–' : `${isEstimated ? '~' : ''}${dollarsText(micros)}`;

/** The share that is requested, in whole percent. */
export const percentOf = (fill: Fill): number => Math.round(shareOf(fill) * 100);

/** The share as text, and a dash for a node that has not said what it can give. */
export const percentText = (fill: Fill): string =>
  fill.allocatable === 0 ? '–' : `${String(percentOf(fill))} %`;

/** The time of day by the browser's clock and language. */
export const timeText = (atMs: number): string => new Date(atMs).toLocaleTimeString();

/** A pool's name. Its kind is said for a Provisioner alone, as in the terminal. */
export const poolText = (pool: string): string => pool.replace(/^NodePool\//, '');

/** The price of the nodes beside that of a plan from nothing, in words. */
export function gapText(gap: GapRow | undefined): string {
  if (gap === undefined)
    return 'The price of a plan from nothing is not known yet: the reaper asks for it as often as GAP_EVERY says.';
  const least = gap.lowerBoundMicrosPerHour;
  const left = gap.podsUnplaced;
  const price = (micros: number): string => priceText(micros, gap.priceEstimated);
  return [
    `A plan from nothing for the same pods costs ${price(gap.planPriceMicrosPerHour)} on ${countText(gap.planNodes, 'node')}`,
    ...(least === undefined ? [] : [`and none less than ${price(least)} (dashed)`]),
    ...(left === 0 ? [] : [`without ${countText(left, 'pod')} that it has no place for`]),
    `as of ${timeText(gap.atMs)}.`,
  ].join(', ');
}
