import { at, float64At } from '@dovetail/core-invariant';
import type { HostPort } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import { anyClash } from '../model/host-ports.js';
import { cheapestFor, sizesFor } from '../rooms/accounts.js';
import { timesFitting } from '../rooms/fitting.js';
import { roomIn, type Tally } from '../topology/ledger.js';
import type { Kind } from './kinds.js';
import type { PackBin, PackContext } from './packing.js';

const none: readonly HostPort[] = [];

/**
 * Returns the state after a pod of a kind joins; undefined if it cannot join. Results are kept per
 * kind and state.
 */
export function afterKind(context: PackContext, state: State, kind: Kind): State | undefined {
  const known = at(context.next, kind.index);
  let next = known[state.id];
  if (next === undefined) {
    next = context.states.after(state, kind.shape) ?? null;
    known[state.id] = next;
  }
  return next ?? undefined;
}

/** A new bin of that state without pods. Its price is unknown (Infinity) until pods come. */
export function emptyBin(context: PackContext, id: number, state: State): PackBin {
  const size = context.perUnit.length;
  return {
    id,
    state,
    used: new Float64Array(size),
    contents: new Map(),
    hosts: undefined,
    ports: none,
    pods: 0,
    price: Infinity,
    room: new Float64Array(size),
  };
}

function copyOfTallies(hosts: ReadonlyMap<number, Tally>): Map<number, Tally> {
  const copy = new Map<number, Tally>();
  for (const [group, tally] of hosts) copy.set(group, { ...tally });
  return copy;
}

/** A copy whose contents and tallies may change without changing the original. */
export function copyOf(bin: PackBin): PackBin {
  return {
    ...bin,
    used: bin.used.slice(),
    contents: new Map(bin.contents),
    hosts: bin.hosts === undefined ? undefined : copyOfTallies(bin.hosts),
  };
}

/** Returns how many more of a kind the hostname rules and host ports of a bin admit. */
export function ruleRoom(context: PackContext, bin: PackBin, kind: Kind): number {
  if (kind.plain) return Infinity;
  let most = kind.ports.length === 0 ? Infinity : anyClash(bin.ports, kind.ports) ? 0 : 1;
  for (const role of kind.roles) {
    if (most <= 0) return 0;
    most = Math.min(
      most,
      roomIn(role, bin.hosts?.get(role.group.id), float64At(context.hostFloors, role.group.id), 1),
    );
  }
  return most;
}

/**
 * Returns how many of a kind fit if the bin may still become any of its state's offers; 0 if the
 * kind cannot join.
 */
export function flexibleRoom(context: PackContext, bin: PackBin, kind: Kind): number {
  const rules = ruleRoom(context, bin, kind);
  if (rules <= 0) return 0;
  const next = afterKind(context, bin.state, kind);
  if (next === undefined) return 0;
  let times = 0;
  if (bin.ports.length + kind.ports.length === 0) {
    for (const room of next.widest)
      times = Math.max(times, timesFitting(room, bin.used, kind.requests));
  } else {
    const ports = [...bin.ports, ...kind.ports];
    for (const { type } of sizesFor(next, { used: bin.used, ports }))
      times = Math.max(times, timesFitting(type.room, bin.used, kind.requests));
  }
  return Math.min(times, rules);
}

// Invariant: all vectors of one plan have the same length. Reads here are unchecked for speed.
function holdsOneMore(room: Float64Array, used: Float64Array, requests: Float64Array): boolean {
  for (let r = 0; r < used.length; r += 1)
    if ((used[r] as number) + (requests[r] as number) > (room[r] as number)) return false;
  return true;
}

/**
 * Whether one more pod of a plain kind fits a bin without host ports, if the bin may still become
 * any of its state's offers.
 */
function takesPlain(context: PackContext, bin: PackBin, kind: Kind): boolean {
  const next = afterKind(context, bin.state, kind);
  if (next === undefined) return false;
  for (const room of next.widest) if (holdsOneMore(room, bin.used, kind.requests)) return true;
  return false;
}

/**
 * Remembers which nodes are closed to which rules. A node that hostname rules close to a kind stays
 * closed as long as pods are only added. Asking the rules again for each pod would be wasted work.
 */
export class ClosedNodes {
  readonly #closed: Uint8Array[] = [];

  has(kind: Kind, bin: PackBin): boolean {
    return this.#closed[kind.rule]?.[bin.id] === 1;
  }

  close(kind: Kind, bin: PackBin): void {
    let closed = this.#closed[kind.rule];
    if (closed === undefined || closed.length <= bin.id) {
      const larger = new Uint8Array(Math.max(256, bin.id * 2));
      if (closed !== undefined) larger.set(closed);
      this.#closed[kind.rule] = closed = larger;
    }
    closed[bin.id] = 1;
  }

  /** Whether one more pod of a kind fits. */
  takes(context: PackContext, bin: PackBin, kind: Kind): boolean {
    return kind.plain && bin.ports.length === 0
      ? takesPlain(context, bin, kind)
      : this.room(context, bin, kind) > 0;
  }

  /** Returns the result of `flexibleRoom`, and remembers a node that the rules have closed. */
  room(context: PackContext, bin: PackBin, kind: Kind): number {
    if (kind.plain) return flexibleRoom(context, bin, kind);
    if (this.has(kind, bin)) return 0;
    const room = flexibleRoom(context, bin, kind);
    if (room === 0 && ruleRoom(context, bin, kind) <= 0) this.close(kind, bin);
    return room;
  }
}

/**
 * Puts `count` of a kind into a bin, or removes pods if `count` is negative. The price stays as it
 * was; see `settle`.
 */
export function putKind(context: PackContext, bin: PackBin, kind: Kind, count: number): void {
  for (let r = 0; r < bin.used.length; r += 1)
    bin.used[r] = (bin.used[r] as number) + (kind.requests[r] as number) * count;
  const now = (bin.contents.get(kind.index) ?? 0) + count;
  if (now === 0) bin.contents.delete(kind.index);
  else bin.contents.set(kind.index, now);
  bin.pods += count;
  if (count > 0) bin.state = afterKind(context, bin.state, kind) as State;
  noteRules(bin, kind, count);
}

/** Notes pods of a kind with hostname rules or host ports on a bin. */
export function noteRules(bin: PackBin, kind: Kind, count: number): void {
  if (kind.plain) return;
  if (kind.ports.length > 0)
    bin.ports =
      count > 0
        ? [...bin.ports, ...kind.ports]
        : bin.ports.filter((port) => !kind.ports.includes(port));
  for (const role of kind.roles) {
    bin.hosts ??= new Map<number, Tally>();
    let tally = bin.hosts.get(role.group.id);
    if (tally === undefined)
      bin.hosts.set(role.group.id, (tally = { selected: 0, carriers: 0, sure: 0 }));
    if (role.selected) tally.selected += count;
    if (role.carries) tally.carriers += count;
  }
}

/**
 * Sets price and room to those of the cheapest offer that holds the contents. Returns false if
 * there is none.
 */
export function settle(bin: PackBin): boolean {
  const offer = cheapestFor(bin.state, bin);
  bin.price = offer?.offering.priceMicrosPerHour ?? Infinity;
  if (offer !== undefined) bin.room = offer.type.room;
  return offer !== undefined;
}

/** Returns a node with the contents of two; undefined if the rules or the types forbid it. */
export function joinedBin(
  context: PackContext,
  into: PackBin,
  small: PackBin,
): PackBin | undefined {
  const bin = copyOf(into);
  for (const [index, count] of small.contents) {
    const kind = at(context.kinds, index);
    if (flexibleRoom(context, bin, kind) < count) return undefined;
    putKind(context, bin, kind, count);
  }
  return settle(bin) ? bin : undefined;
}

/** Returns the price of all nodes together in micro-dollars an hour. */
export const totalPrice = (bins: readonly PackBin[]): number =>
  bins.reduce((sum, bin) => sum + bin.price, 0);
