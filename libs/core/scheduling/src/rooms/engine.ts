import { admits, type HostPort, isCompatible } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import { addTo } from '../model/dimensions.js';
import { anyClash } from '../model/host-ports.js';
import type { NodeRoom } from '../model/nodes.js';
import { type Shape, taintAgainst } from '../model/shapes.js';
import type { Template } from '../model/templates.js';
import type { Ledger, Tally } from '../topology/ledger.js';
import type { Roles } from '../topology/roles.js';
import type { World } from '../world/world.js';
import { Accounts, cheapestFor, sizesFor } from './accounts.js';
import { type Bin } from './bin.js';
import { timesFitting } from './fitting.js';
import type { Item } from './items.js';
import { volumeRoomOn } from './volume-room.js';

const noPorts = [] as const;

type PinSpec = {
  readonly key: string;
  readonly operator: 'In';
  readonly values: readonly string[];
};

/**
 * The nodes of a plan under construction, with every rule that decides which pods may join which
 * node.
 */
export class Engine {
  readonly world: World;
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  /** Existing nodes in the order in which they are tried. */
  readonly existing: readonly Bin[];
  readonly fresh: Bin[] = [];
  /** Shapes pinned to domains, kept for `candidatesOf`. */
  readonly pinned = new Map<
    string,
    readonly { readonly shape: Shape; readonly specs: readonly PinSpec[] }[]
  >();
  /** Shapes and pins of pods with the same roles, kept for `candidatesOf`. */
  readonly choices = new Map<
    Roles,
    readonly { readonly shape: Shape; readonly pins: Item['pins'] }[]
  >();
  readonly #nodeMatch = new Map<number, Map<number, boolean>>();
  #made: number;

  /**
   * Makes an engine without pods of this plan. With `from`, it copies that engine's counts and
   * existing nodes, but not its new nodes.
   */
  constructor(world: World, from?: Engine) {
    this.world = world;
    this.ledger = (from?.ledger ?? world.standings.ledger).clone();
    this.accounts = new Accounts(world.templates, {
      strictReservations: world.options.reservedOfferings === 'Strict',
      strictMinValues: world.options.minValuesPolicy === 'Strict',
      typesMax: world.options.instanceTypesMax,
    });
    this.existing =
      from === undefined
        ? world.nodes.map((room, index) => this.#binFor(room, index))
        : from.existing.map(copyOfBin);
    this.#made = this.existing.length;
  }

  #binFor(room: NodeRoom, index: number): Bin {
    const mine = this.world.standings.hosts.get(room.node.uid);
    const bin = {
      index,
      room,
      used: this.#zero(),
      contents: new Map(),
      pods: room.node.pods.length,
      ports: noPorts,
      minValuesRelaxed: false,
    };
    return mine === undefined || mine.size === 0 ? bin : { ...bin, hosts: copyOfTallies(mine) };
  }

  #zero(): Float64Array {
    return new Float64Array(this.world.dimensions.names.length);
  }

  /** Whether the taints and labels of an existing node admit a shape. */
  nodeAdmits(room: NodeRoom, shape: Shape): boolean {
    let known = this.#nodeMatch.get(shape.id);
    if (known === undefined) this.#nodeMatch.set(shape.id, (known = new Map<number, boolean>()));
    let match = known.get(room.index);
    if (match === undefined) {
      match =
        taintAgainst(shape, room.node.taints) === undefined &&
        isCompatible(room.requirements, shape.requirements, { allowUndefined: nothing }) &&
        surelyAdmits(room, shape);
      known.set(room.index, match);
    }
    return match;
  }

  /** Returns how many more of the item an existing node takes. Domain rules are not checked. */
  roomOnNode(bin: Bin, item: Item): number {
    const { room } = bin;
    if (room === undefined || !this.nodeAdmits(room, item.shape)) return 0;
    let times = timesFitting(room.free, bin.used, item.cls.requests);
    if (times > 0) times = Math.min(times, this.#hostRoom(bin, item, room.hostPorts));
    if (times > 0 && item.cls.attachments.length > 0)
      times = Math.min(times, volumeRoomOn(bin, item));
    return times;
  }

  /** Returns how many more of the item a new node takes. Domain rules are not checked. */
  roomInFresh(bin: Bin, item: Item): number {
    const state = bin.state as State;
    const next = this.world.states.after(state, item.shape);
    if (next === undefined) return 0;
    const host = this.#hostRoom(bin, item, noPorts);
    return host <= 0 ? 0 : this.#affordable(next, { bin, item, most: host });
  }

  /**
   * Returns the state in which a node of this template can open for the item; undefined if it could
   * take none.
   */
  openingFor(template: Template, item: Item): State | undefined {
    const most = this.#hostRoom(undefined, item, noPorts);
    return most <= 0
      ? undefined
      : this.world.states.openings(template).find((opening) => {
          const state = this.world.states.after(opening, item.shape);
          return state !== undefined && this.#affordable(state, { bin: undefined, item, most }) > 0;
        });
  }

  /** Returns the least price of a node that opens in a state and holds one pod of the item. */
  openingPrice(opening: State, item: Item): number {
    return this.#priceWith(opening, item, undefined);
  }

  /** By how much one pod of the item makes a new node dearer. */
  growth(bin: Bin, item: Item): number {
    return this.#priceWith(bin.state as State, item, bin) - this.priceOf(bin);
  }

  #priceWith(before: State, item: Item, bin: Bin | undefined): number {
    const state = this.world.states.after(before, item.shape);
    if (state === undefined) return Infinity;
    const used = Float64Array.from(bin?.used ?? this.#zero());
    addTo(used, item.cls.newNodeRequests, 1);
    const load = { used, ports: portsWith(bin, item) };
    const offer = Accounts.applies(state.template)
      ? this.accounts.choose(state, load, bin)
      : cheapestFor(state, load);
    return typeof offer === 'object' ? offer.offering.priceMicrosPerHour : Infinity;
  }

  /**
   * Whether a new node of this template lacks only a reservation for the item, and the reservation
   * has no instance left. With `Strict`, such pods wait.
   */
  waitsForReservation(template: Template, item: Item): boolean {
    if (this.world.options.reservedOfferings !== 'Strict' || !template.reserves) return false;
    const state = this.world.states.after(this.world.states.root(template), item.shape);
    return (
      state !== undefined &&
      this.accounts.choose(
        state,
        { used: item.cls.newNodeRequests, ports: item.cls.pod.hostPorts },
        undefined,
      ) === 'reserved-capacity'
    );
  }

  #affordable(
    state: State,
    what: { readonly bin: Bin | undefined; readonly item: Item; readonly most: number },
  ): number {
    const { bin, item } = what;
    const used = bin?.used ?? this.#zero();
    const ports = portsWith(bin, item);
    let times = 0;
    if (ports.length === 0) {
      for (const room of state.widest)
        times = Math.max(times, timesFitting(room, used, item.cls.newNodeRequests));
    } else {
      for (const offer of sizesFor(state, { used, ports }))
        times = Math.max(times, timesFitting(offer.type.room, used, item.cls.newNodeRequests));
    }
    times = Math.min(times, what.most);
    return times <= 0 || !Accounts.applies(state.template)
      ? times
      : this.#charged(state, { ...what, most: times });
  }

  /**
   * Returns the largest number of the item for which an offer within limits remains. A load that
   * fits still fits with fewer pods, so binary search finds the number.
   */
  #charged(
    state: State,
    what: { readonly bin: Bin | undefined; readonly item: Item; readonly most: number },
  ): number {
    const { bin, item } = what;
    const ports = portsWith(bin, item);
    const mayRelax = bin === undefined && this.world.options.minValuesPolicy === 'BestEffort';
    const fits = (times: number): boolean => {
      const used = Float64Array.from(bin?.used ?? this.#zero());
      addTo(used, item.cls.newNodeRequests, times);
      if (typeof this.accounts.choose(state, { used, ports }, bin) === 'string') return false;
      return mayRelax || this.accounts.keepsMinValues(state, { used, ports });
    };
    // Most nodes that are asked while limits bind hold none, and one probe shows it.
    if (what.most <= 0 || !fits(1)) return 0;
    let low = 1;
    let high = Math.min(what.most, 1 << 20);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (fits(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #hostRoom(bin: Bin | undefined, item: Item, taken: readonly HostPort[]): number {
    let times = Infinity;
    for (const role of item.roles.onHost) {
      times = Math.min(times, this.ledger.roomOnHost(role, bin?.hosts));
      if (times <= 0) return 0;
    }
    const ports = item.cls.pod.hostPorts;
    if (ports.length === 0) return times;
    return anyClash(taken, ports) || anyClash(bin?.ports ?? noPorts, ports)
      ? 0
      : Math.min(times, 1);
  }

  /** Opens an empty new node in one of its template's opening states. */
  open(state: State): Bin {
    const bin: Bin = {
      index: this.#made,
      state,
      used: this.#zero(),
      contents: new Map(),
      pods: 0,
      ports: noPorts,
      minValuesRelaxed: false,
    };
    this.#made += 1;
    this.fresh.push(bin);
    return bin;
  }

  /**
   * Puts `count` of the item on a bin and charges the bin. The caller has checked that there is
   * room.
   */
  put(bin: Bin, item: Item, count: number): void {
    const first = bin.pods === 0;
    this.add(bin, item, count);
    if (bin.state !== undefined) this.recharge(bin, first);
  }

  /**
   * Puts `count` of the item on a bin without charging it. The caller charges the bin once it is
   * full.
   */
  add(bin: Bin, item: Item, count: number): void {
    const { requests, newNodeRequests } = item.cls;
    addTo(bin.used, bin.room === undefined ? newNodeRequests : requests, count);
    bin.contents.set(item, (bin.contents.get(item) ?? 0) + count);
    bin.pods += count;
    if (item.cls.pod.hostPorts.length > 0) bin.ports = [...bin.ports, ...item.cls.pod.hostPorts];
    if (item.roles.onHost.length > 0) {
      bin.hosts ??= new Map();
      for (const role of item.roles.onHost) this.ledger.noteOnHost(role, bin.hosts, count);
    }
    if (bin.state !== undefined)
      bin.state = this.world.states.after(bin.state, item.shape) as State;
  }

  /**
   * Charges a new node as the offer that would be launched for its current load. `first` marks the
   * first charge of the node.
   */
  recharge(bin: Bin, first: boolean): void {
    const state = bin.state as State;
    if (!Accounts.applies(state.template)) return;
    const offer = this.accounts.choose(state, bin, bin);
    this.accounts.charge(bin, state.template, typeof offer === 'string' ? undefined : offer);
    if (first && state.template.minValues.length > 0)
      bin.minValuesRelaxed = !this.accounts.keepsMinValues(state, bin);
  }

  /**
   * Returns the price of a new node with its current load in micro-dollars an hour; Infinity if no
   * offer holds it.
   */
  priceOf(bin: Bin): number {
    const offer = bin.offer ?? cheapestFor(bin.state as State, bin);
    return offer?.offering.priceMicrosPerHour ?? Infinity;
  }
}

/** Whether the shape accepts every value that an open label of a claim in flight may still take. */
function surelyAdmits(room: NodeRoom, shape: Shape): boolean {
  for (const key of room.node.requirements.keys()) {
    const wanted = shape.requirements.get(key);
    const offered = room.requirements.get(key);
    if (wanted === undefined || offered === undefined) continue;
    if (offered.kind === 'notIn') return false;
    for (const value of offered.values) if (!admits(wanted, value)) return false;
  }
  return true;
}

const nothing: ReadonlySet<string> = new Set<string>();

const copyOfTallies = (hosts: ReadonlyMap<number, Tally>): Map<number, Tally> =>
  new Map([...hosts].map(([group, tally]) => [group, { ...tally }]));

const copyOfBin = (bin: Bin): Bin => ({
  ...bin,
  used: Float64Array.from(bin.used),
  contents: new Map(bin.contents),
  ...(bin.hosts === undefined ? {} : { hosts: copyOfTallies(bin.hosts) }),
});

const portsWith = (bin: Bin | undefined, item: Item): readonly HostPort[] => {
  const own = item.cls.pod.hostPorts;
  const taken = bin?.ports ?? noPorts;
  return own.length === 0 ? taken : [...taken, ...own];
};
