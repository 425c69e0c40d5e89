import { at, float64At } from '@dovetail/core-invariant';

import type { RandomNumbers } from '../improve/random-numbers.js';
import type { PodClass } from '../model/classes.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Bin } from '../rooms/bin.js';
import { crowding, domainRoom, evensOut, noteOnNode } from '../rooms/domain-room.js';
import type { Engine } from '../rooms/engine.js';
import type { Item, ItemTable } from '../rooms/items.js';
import type { Roles } from '../topology/roles.js';

/**
 * Existing nodes among which a class may choose freely. The nodes before `next` have turned the
 * class away.
 */
type Row = { readonly nodes: Neighbours; readonly pins: Item['pins']; next: number };

/**
 * Returns the node's only value for a key; undefined if it has none or its claim leaves it open.
 */
function domainOf(bin: Bin, key: string): string | undefined {
  const set = bin.room?.requirements.get(key);
  if (set?.kind !== 'in' || set.values.size !== 1) return undefined;
  const [value] = set.values;
  return value;
}

/**
 * Nodes skipped at once when none of them has the room. Larger blocks skip more nodes at a time and
 * are skipped less often.
 */
const blockSize = 64;

/** Existing nodes that share their domains for some topology keys. */
class Neighbours {
  readonly bins: Bin[] = [];
  /** The domain of each topology key, by key. */
  readonly domains: ReadonlyMap<string, string | undefined>;
  /** Whether the domain of some key is undecided. */
  readonly open: boolean;
  /**
   * Per block of nodes, the largest free amount of each resource. Invariant: no node of the block
   * has more free, because free amounts only shrink while a plan is built.
   */
  readonly #ceilings: Float64Array[] = [];

  constructor(domains: ReadonlyMap<string, string | undefined>, open: boolean) {
    this.domains = domains;
    this.open = open;
  }

  /**
   * Returns the index of the first node from `from` on that takes the item, or the number of nodes
   * if none does.
   */
  firstFor(engine: Engine, item: Item, from: number): number {
    for (let index = from; index < this.bins.length;) {
      const block = Math.floor(index / blockSize);
      const end = Math.min(this.bins.length, (block + 1) * blockSize);
      const ceiling = (this.#ceilings[block] ??= this.#ceilingOf(block));
      if (item.cls.requests.some((wanted, r) => wanted > float64At(ceiling, r))) {
        index = end;
        continue;
      }
      for (; index < end; index += 1)
        if (engine.roomOnNode(at(this.bins, index), item) > 0) return index;
      this.#ceilings[block] = this.#ceilingOf(block);
    }
    return this.bins.length;
  }

  #ceilingOf(block: number): Float64Array {
    const bins = this.bins.slice(block * blockSize, (block + 1) * blockSize);
    const ceiling = new Float64Array(bins[0]?.used.length ?? 0);
    for (const { room, used } of bins)
      for (let r = 0; r < used.length; r += 1)
        ceiling[r] = Math.max(float64At(ceiling, r), (room?.free[r] ?? 0) - float64At(used, r));
    return ceiling;
  }
}

/**
 * Groups the existing nodes of an engine by their domains for some keys. Classes that spread over
 * the same keys share one result.
 */
function neighboursOf(engine: Engine, keys: readonly string[]): readonly Neighbours[] {
  const known = neighbourhoods.get(engine) ?? new Map<string, readonly Neighbours[]>();
  neighbourhoods.set(engine, known);
  const text = keys.join('|');
  const made = known.get(text);
  if (made !== undefined) return made;
  const found = new Map<string, Neighbours>();
  for (const bin of engine.existing) {
    const domains = new Map(keys.map((key) => [key, domainOf(bin, key)]));
    const open = keys.some(
      (key) => domains.get(key) === undefined && bin.room?.requirements.has(key) === true,
    );
    const name = `${open ? 'open' : ''}|${[...domains.values()].map((value) => value ?? '').join('|')}`;
    const nodes = found.get(name) ?? new Neighbours(domains, open);
    found.set(name, nodes);
    nodes.bins.push(bin);
  }
  const all = [...found.values()];
  known.set(text, all);
  return all;
}

const neighbourhoods = new WeakMap<Engine, Map<string, readonly Neighbours[]>>();

function rowsOf(engine: Engine, item: Item): readonly Row[] {
  const { onDomain, domainKeys } = item.roles;
  const mayGo = ({ domains, open }: Neighbours): boolean =>
    // A claim with an undecided domain may only take pods that no rule counts.
    !open &&
    !onDomain.some(
      (role) =>
        role.carries && role.group.kind !== 'anti' && domains.get(role.group.key) === undefined,
    );
  return neighboursOf(engine, domainKeys)
    .filter(mayGo)
    .map((nodes) => ({
      nodes,
      next: 0,
      pins: onDomain.flatMap((role) => {
        const domain = nodes.domains.get(role.group.key);
        return domain === undefined ? [] : [{ role, domain }];
      }),
    }));
}

/** The rows that a class may go to in one of its shapes, and whether their order is drawn. */
type Places = { readonly item: Item; readonly rows: readonly Row[]; readonly drawn: boolean };

function advance(engine: Engine, row: Row, item: Item): Bin | undefined {
  row.next = row.nodes.firstFor(engine, item, row.next);
  return row.nodes.bins[row.next];
}

/**
 * Returns the row whose next node takes a pod: the emptiest domain first, then the earliest node,
 * or the first row if the order of rows is drawn.
 */
function nextRow(
  engine: Engine,
  rows: readonly Row[],
  { item, drawn }: Pick<Places, 'item' | 'drawn'>,
): { readonly row: Row; readonly bin: Bin } | undefined {
  const even = evensOut(item.roles);
  let best: { readonly row: Row; readonly bin: Bin; readonly crowd: number } | undefined;
  for (const row of rows) {
    if (domainRoom(engine, row.pins) <= 0) continue;
    const bin = advance(engine, row, item);
    if (bin === undefined) continue;
    const crowd = even ? crowding(engine, row.pins) : 0;
    if (
      best === undefined ||
      crowd < best.crowd ||
      (crowd === best.crowd && !drawn && bin.index < best.bin.index)
    )
      best = { row, bin, crowd };
  }
  return best;
}

function placeOnRows(engine: Engine, places: Places, count: number): number {
  const { item, rows } = places;
  const even = evensOut(item.roles);
  let left = count;
  while (left > 0) {
    const found = nextRow(engine, rows, places);
    if (found === undefined) break;
    const { row, bin } = found;
    const times = even
      ? 1
      : Math.min(left, engine.roomOnNode(bin, item), domainRoom(engine, row.pins));
    engine.put(bin, item, times);
    noteOnNode(engine, row.pins, { room: bin.room as NodeRoom, count: times });
    left -= times;
  }
  return count - left;
}

/**
 * The existing nodes as places for pods of one class at one level. `place` may be called again
 * after pods went elsewhere, because that may open a domain that a spread had closed.
 */
export class ExistingNodes {
  readonly #engine: Engine;
  readonly #places: readonly Places[];

  constructor(
    engine: Engine,
    table: ItemTable,
    what: {
      readonly cls: PodClass;
      readonly level: number;
      readonly roles: Roles;
      /** If given, it draws the order in which domains are tried. */
      readonly random?: RandomNumbers | undefined;
    },
  ) {
    this.#engine = engine;
    const { cls, level, roles, random } = what;
    const shapes = engine.existing.length === 0 ? [] : (cls.levels[level]?.shapes ?? []);
    this.#places = shapes.map((shape) => {
      const item = table.intern({ cls, level, roles, shape, pins: [] });
      const rows = rowsOf(engine, item);
      return { item, rows: random?.shuffled(rows) ?? rows, drawn: random !== undefined };
    });
  }

  /** Places up to `count` pods and returns how many it placed. */
  place(count: number): number {
    let placed = 0;
    for (const places of this.#places) {
      if (placed >= count) break;
      placed += placeOnRows(this.#engine, places, count - placed);
    }
    return placed;
  }
}
