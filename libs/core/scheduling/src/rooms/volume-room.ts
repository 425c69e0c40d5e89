import type { Bin } from './bin.js';
import type { Item } from './items.js';

/**
 * Adds the named volumes of the item to `names`. Returns how many unnamed volumes `copies` pods
 * bring.
 */
function attach(
  item: Item,
  driver: string,
  what: { readonly names: Set<string>; readonly copies: number },
): number {
  let own = 0;
  for (const one of item.cls.attachments) {
    if (one.driver !== driver) continue;
    if (one.id === undefined) own += what.copies;
    else what.names.add(one.id);
  }
  return own;
}

/**
 * Returns how many more of the item the node's volume limits allow. A volume with a name is
 * attached once, even if several pods share it. Infinity without limits.
 */
export function volumeRoomOn(bin: Bin, item: Item): number {
  let times = Infinity;
  for (const [driver, { limit, attached }] of bin.room?.volumeRoom ?? []) {
    const names = new Set(attached);
    let own = 0;
    for (const [other, copies] of bin.contents) own += attach(other, driver, { names, copies });
    const each = attach(item, driver, { names: new Set(), copies: 1 });
    const before = names.size;
    attach(item, driver, { names, copies: 1 });
    if (each === 0 && names.size === before) continue;
    const left = limit - names.size - own;
    times = Math.min(times, left < 0 ? 0 : each === 0 ? Infinity : Math.floor(left / each));
  }
  return times;
}
