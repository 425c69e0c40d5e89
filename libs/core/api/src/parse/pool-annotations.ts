import { lookUp } from '@dovetail/core-invariant';
import { Malformed, readTextMap, withoutNulls } from '@dovetail/core-kube-model';

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

/** The prefix of the annotations by which Dovetail keeps its own records on claims and nodes. */
const ownPrefix = 'dovetail.sh/';

/**
 * Reads the annotations that every node of a pool gets. Those of Dovetail are refused: on a claim
 * they are records of what it does, and one that nobody meant would cap a price or hold a node.
 */
export function readTemplateAnnotations(
  raw: unknown,
  field: string,
): Readonly<Record<string, string>> {
  const annotations = readTextMap(withoutNulls(raw), field);
  const own = Object.keys(annotations).find((name) => name.startsWith(ownPrefix));
  if (own === undefined) return annotations;
  throw new Malformed(
    `${field}.${own}`,
    lookUp(annotations, own),
    `${ownPrefix} is for Dovetail's own records on nodes: remove it, or set it on the pool's metadata`,
  );
}
