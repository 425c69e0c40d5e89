import { anotherProviderOf } from '@dovetail/core-api';

import type { Inventory, Item } from './kinds.js';

/** The kinds that the providers of Karpenter share. */
const shared = ['NodePool', 'NodeClaim'] as const;
const providerOf = ({ object }: Item): string | undefined => anotherProviderOf(object);

function notesOf(kind: string, items: readonly Item[]): readonly string[] {
  const providers = new Set(items.map((item) => providerOf(item) ?? ''));
  return [...providers].map((provider) => {
    const names = items.flatMap((item) => (providerOf(item) === provider ? item.name : []));
    const shown = names.length <= 3 ? names : [...names.slice(0, 3), `${names.length - 3} more`];
    const [what, are] = names.length === 1 ? [kind, 'is'] : [`${kind}s`, 'are'];
    return `${what} ${shown.join(', ')} ${are} of another provider (${provider}): left out`;
  });
}

/**
 * The objects of one provider, with a note about the others: ours, as the services read a cluster.
 * A catalog file lists the types of any provider, so with a file (`anyProvider`) the provider of
 * the first NodePool counts if no pool is ours.
 */
export function ofOneProvider(inventory: Inventory, anyProvider: boolean): Inventory {
  const pools = inventory.of('NodePool').map(providerOf);
  const counted = anyProvider && !pools.includes(undefined) ? pools[0] : undefined;
  const isOther = (item: Item): boolean => ![undefined, counted].includes(providerOf(item));
  const others = shared.map((kind) => ({ kind, items: inventory.of(kind).filter(isOther) }));
  const left = new Set(others.flatMap(({ items }) => items));
  if (left.size === 0) return inventory;
  return {
    ...inventory,
    of: (kind) => inventory.of(kind).filter((item) => !left.has(item)),
    notes: [...inventory.notes, ...others.flatMap(({ kind, items }) => notesOf(kind, items))],
  };
}
