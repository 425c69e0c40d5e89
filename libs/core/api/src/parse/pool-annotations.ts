import { Malformed } from '@dovetail/core-kube-model';

import { annotations as names } from '../names.js';
import type { Pool } from '../pool.js';

const dollars = /^[0-9]{1,6}(\.[0-9]{1,6})?$/;
const count = /^[1-9][0-9]{0,5}$/;

/**
 * Reads Dovetail's own settings of a pool. They are annotations, because Karpenter's schema has no
 * fields for them.
 */
export function readPoolAnnotations(
  annotations: Readonly<Record<string, string>>,
): Pick<Pool, 'maxPriceMicrosPerHour' | 'maxLaunchesPerMinute'> {
  const price = annotations[names.maxPricePerHour];
  const launches = annotations[names.maxLaunchesPerMinute];
  if (price !== undefined && !dollars.test(price)) {
    throw new Malformed(
      `metadata.annotations.${names.maxPricePerHour}`,
      price,
      'write US dollars per hour such as "1.50", with at most six decimals',
    );
  }
  if (launches !== undefined && !count.test(launches)) {
    throw new Malformed(
      `metadata.annotations.${names.maxLaunchesPerMinute}`,
      launches,
      'write how many nodes may be launched in a minute, such as "10"',
    );
  }
  return {
    ...(price === undefined
      ? {}
      : { maxPriceMicrosPerHour: Math.round(Number(price) * 1_000_000) }),
    ...(launches === undefined ? {} : { maxLaunchesPerMinute: Number(launches) }),
  };
}
