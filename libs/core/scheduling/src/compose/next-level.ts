import type { PodClass } from '../model/classes.js';
import type { PlanOptions } from '../snapshot.js';

/** Pods with up to as many levels are relaxed without asking for the time. Most have a few. */
const levelsMax = 32;

/**
 * Returns the level to try after this one. When the time for planning has ended, a pod with many
 * levels goes on with its last one, which has no preference.
 */
export function nextLevel(
  { levels }: Pick<PodClass, 'levels'>,
  level: number,
  { giveWay, shouldStop }: Pick<PlanOptions, 'giveWay' | 'shouldStop'>,
): number {
  giveWay?.();
  const last = levels.length - 1;
  return level < last && levels.length > levelsMax && shouldStop?.(0) === true ? last : level + 1;
}
