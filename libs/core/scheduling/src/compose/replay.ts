import { at } from '@dovetail/core-invariant';

import type { Kind } from '../pack/kinds.js';
import { type PackBin } from '../pack/packing.js';
import { Accounts } from '../rooms/accounts.js';
import type { Engine } from '../rooms/engine.js';

/** Hands out the items of each kind in order. */
class ItemSource {
  readonly #kinds: readonly Kind[];
  readonly #position: { at: number; used: number }[];

  constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds;
    this.#position = kinds.map(() => ({ at: 0, used: 0 }));
  }

  *take(
    index: number,
    count: number,
  ): Generator<{ readonly item: Kind['items'][number]['item']; readonly count: number }> {
    const position = at(this.#position, index);
    const { items } = at(this.#kinds, index);
    for (let left = count; left > 0;) {
      const entry = at(items, position.at);
      const taken = Math.min(left, entry.count - position.used);
      if (taken > 0) yield { item: entry.item, count: taken };
      left -= taken;
      position.used += taken;
      if (position.used === entry.count) [position.at, position.used] = [position.at + 1, 0];
    }
  }
}

/**
 * Opens the nodes of a packing on an engine. Returns false if limits, reservations or minValues do
 * not allow them, because packing ignores those. The engine is then unusable.
 */
export function replay(engine: Engine, kinds: readonly Kind[], bins: readonly PackBin[]): boolean {
  const source = new ItemSource(kinds);
  for (const packed of bins) {
    const bin = engine.open(engine.world.states.openingOf(packed.state));
    for (const [index, count] of packed.contents)
      for (const part of source.take(index, count)) engine.add(bin, part.item, part.count);
    const { template } = packed.state;
    if (!Accounts.applies(template)) continue;
    engine.recharge(bin, true);
    if (bin.offer === undefined) return false;
    if (bin.minValuesRelaxed && engine.world.options.minValuesPolicy === 'Strict') return false;
  }
  return true;
}
