import type { Parsed } from '@dovetail/core-kube-model';

import { valueOf } from '../manifests/objects.js';
import type { Inventory } from './kinds.js';

/** Parses every object of a kind. An unreadable one becomes a problem, and is left out. */
export async function all<T>(
  inventory: Inventory,
  kind: string,
  parse: (raw: unknown) => Parsed<T>,
): Promise<readonly T[]> {
  const values: T[] = [];
  for (const item of inventory.of(kind)) {
    const value = await inventory.problems.reading(() => valueOf(item, parse(item.object)));
    if (value !== undefined) values.push(value);
  }
  return values;
}
