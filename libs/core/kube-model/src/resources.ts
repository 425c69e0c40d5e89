import type { Resources } from './quantity.js';

export const noResources: Resources = {};

function combine(a: Resources, b: Resources, operation: (left: number, right: number) => number): Resources {
  const result: Record<string, number> = { ...a };
  for (const name of Object.keys(b)) result[name] = operation(a[name] ?? 0, b[name] ?? 0);
  return result;
}

/** The sum by name. */
export const addResources = (a: Resources, b: Resources): Resources => combine(a, b, (left, right) => left + right);

/** `a` less `b` by name; may go below zero, which `fits` refuses. */
export const subtractResources = (a: Resources, b: Resources): Resources => combine(a, b, (left, right) => left - right);

/** The larger by name. */
export function maxResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name of Object.keys(b)) {
    const left = a[name];
    const right = b[name] ?? 0;
    result[name] = left === undefined ? right : Math.max(left, right);
  }
  return result;
}

/** The sum of many. */
export function sumResources(all: Iterable<Resources>): Resources {
  const result: Record<string, number> = {};
  for (const one of all) for (const name of Object.keys(one)) result[name] = (result[name] ?? 0) + (one[name] ?? 0);
  return result;
}

/** Whether `requests` fit into `available`: no name asks for more than there is, and nothing available is below zero. */
export function fits(requests: Resources, available: Resources): boolean {
  for (const name of Object.keys(available)) if ((available[name] ?? 0) < 0) return false;
  for (const name of Object.keys(requests)) if ((requests[name] ?? 0) > (available[name] ?? 0)) return false;
  return true;
}
