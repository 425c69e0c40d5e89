import { lookUp, put } from '@dovetail/core-invariant';

import type { Resources } from './quantity.js';

/** No amount of anything: the identity of `addResources`. */
export const noResources: Resources = {};

function combine(
  a: Resources,
  b: Resources,
  operation: (left: number, right: number) => number,
): Resources {
  const result: Record<string, number> = { ...a };
  for (const name of Object.keys(b))
    put(result, name, operation(lookUp(a, name) ?? 0, lookUp(b, name) ?? 0));
  return result;
}

/** The sum by name. Commutative and associative. */
export const addResources = (a: Resources, b: Resources): Resources =>
  combine(a, b, (left, right) => left + right);

/** `a` less `b` by name. It may go below zero, which `fits` refuses. */
export const subtractResources = (a: Resources, b: Resources): Resources =>
  combine(a, b, (left, right) => left - right);

/** The larger amount by name. */
export function maxResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name of Object.keys(b)) {
    const left = lookUp(a, name);
    const right = lookUp(b, name) ?? 0;
    put(result, name, left === undefined ? right : Math.max(left, right));
  }
  return result;
}

/** The sum of many, by name. */
export function sumResources(all: Iterable<Resources>): Resources {
  const result: Record<string, number> = {};
  for (const one of all)
    for (const name of Object.keys(one))
      put(result, name, (lookUp(result, name) ?? 0) + (lookUp(one, name) ?? 0));
  return result;
}

/**
 * Whether `requests` fit into `available`. No name may ask for more than there is, and nothing that
 * is available may be below zero (Karpenter's Fits).
 */
export function fits(requests: Resources, available: Resources): boolean {
  for (const name of Object.keys(available)) if ((lookUp(available, name) ?? 0) < 0) return false;
  for (const name of Object.keys(requests))
    if ((lookUp(requests, name) ?? 0) > (lookUp(available, name) ?? 0)) return false;
  return true;
}
