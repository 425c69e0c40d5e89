import type { NodeRoom } from '../model/nodes.js';
import type { PodClass } from '../model/classes.js';
import type { Roles } from '../topology/roles.js';
import type { Bin } from './bin.js';
import { crowding, domainRoom, evensOut, noteOnNode } from './domains.js';
import type { Engine } from './engine.js';
import type { ItemTable, Item } from './items.js';

/** Existing nodes that share their domains, with a mark up to which they have turned the class away. */
type Row = { readonly bins: readonly Bin[]; readonly pins: Item['pins']; next: number };

/** The one value a node has for a key; undefined when it has none or its claim leaves it open. */
function domainOf(bin: Bin, key: string): string | undefined {
  const set = bin.room?.requirements.get(key);
  if (set?.kind !== 'in' || set.values.size !== 1) return undefined;
  const [value] = set.values;
  return value;
}

function rowsOf(engine: Engine, item: Item): readonly Row[] {
  const rows = new Map<string, { bins: Bin[]; pins: Item['pins']; next: number }>();
  for (const bin of engine.existing) {
    const domains = new Map(item.roles.domainKeys.map((key) => [key, domainOf(bin, key)]));
    // A node without the label of a spread or affinity key is no place for a pod that carries the rule.
    if (item.roles.onDomain.some((role) => role.carries && role.group.kind !== 'anti' && domains.get(role.group.key) === undefined)) continue;
    // A claim that may still become one of several domains: only pods that nobody counts may go there.
    if (item.roles.domainKeys.some((key) => domains.get(key) === undefined && bin.room?.requirements.has(key) === true)) continue;
    const text = [...domains.values()].map((value) => value ?? '').join('|');
    const row = rows.get(text);
    if (row !== undefined) { row.bins.push(bin); continue; }
    const pins = item.roles.onDomain.flatMap((role) => {
      const domain = domains.get(role.group.key);
      return domain === undefined ? [] : [{ role, domain }];
    });
    rows.set(text, { bins: [bin], pins, next: 0 });
  }
  return [...rows.values()];
}

function advance(engine: Engine, row: Row, item: Item): Bin | undefined {
  for (; row.next < row.bins.length; row.next += 1) {
    const bin = row.bins[row.next] as Bin;
    if (engine.roomOnNode(bin, item) > 0) return bin;
  }
  return undefined;
}

/** The row whose next node takes a pod: the emptiest domain first, else the earliest node. */
function nextRow(engine: Engine, rows: readonly Row[], item: Item): { readonly row: Row; readonly bin: Bin } | undefined {
  const even = evensOut(item.roles);
  let best: { readonly row: Row; readonly bin: Bin; readonly crowd: number } | undefined;
  for (const row of rows) {
    if (domainRoom(engine, row.pins) <= 0) continue;
    const bin = advance(engine, row, item);
    if (bin === undefined) continue;
    const crowd = even ? crowding(engine, row.pins) : 0;
    if (best === undefined || crowd < best.crowd || (crowd === best.crowd && bin.index < best.bin.index)) best = { row, bin, crowd };
  }
  return best;
}

function placeItem(engine: Engine, item: Item, count: number): number {
  const rows = rowsOf(engine, item);
  const even = evensOut(item.roles);
  let left = count;
  while (left > 0) {
    const found = nextRow(engine, rows, item);
    if (found === undefined) break;
    const { row, bin } = found;
    const times = even ? 1 : Math.min(left, engine.roomOnNode(bin, item), domainRoom(engine, row.pins));
    engine.put(bin, item, times);
    noteOnNode(engine, row.pins, { room: bin.room as NodeRoom, count: times });
    left -= times;
  }
  return count - left;
}

/** Places up to `count` pods of a class on nodes that exist; returns how many found room. */
export function placeOnExisting(engine: Engine, table: ItemTable, what: { readonly cls: PodClass; readonly level: number; readonly roles: Roles; readonly count: number }): number {
  if (engine.existing.length === 0) return 0;
  let placed = 0;
  for (const shape of what.cls.levels[what.level]?.shapes ?? []) {
    if (placed >= what.count) break;
    placed += placeItem(engine, table.intern({ cls: what.cls, level: what.level, roles: what.roles, shape, pins: [] }), what.count - placed);
  }
  return placed;
}
