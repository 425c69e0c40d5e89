import { labels, poolLabelOf } from '@dovetail/core-api';
import { at, float64At, numberAt, present, put } from '@dovetail/core-invariant';
import {
  admits,
  compareText,
  isEmptySet,
  type Requirements,
  type Resources,
  toSpecs,
  type ValueSet,
} from '@dovetail/core-kube-model';

import { notesOf } from '../explain/notes.js';
import type { State } from '../match/states.js';
import { addTo, resourcesOf } from '../model/dimensions.js';
import type { Group } from '../model/groups.js';
import { meetsMinValues } from '../model/min-values.js';
import { type Offer, type Template, withoutLaterLabels } from '../model/templates.js';
import type { TypeRoom } from '../model/type-rooms.js';
import type { BinOption, NewNode, Placement } from '../plan.js';
import { type Bin, requestsIn } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';
import type { Outcome } from './sequence.js';
import { widen } from './widen.js';

/** Hands out the pods of each class, oldest first. */
class PodSource {
  readonly #next: number[];

  constructor(classes: number) {
    this.#next = Array.from({ length: classes }, () => 0);
  }

  take(bin: Bin): readonly string[] {
    const uids: string[] = [];
    for (const [item, count] of bin.contents) {
      const from = numberAt(this.#next, item.cls.index);
      this.#next[item.cls.index] = from + count;
      for (let index = from; index < from + count; index += 1) uids.push(at(item.cls.uids, index));
    }
    return uids;
  }

  /** Returns the pods of a class that no bin has taken. */
  rest(engine: Engine, classIndex: number): readonly string[] {
    return engine.world.classes[classIndex]?.uids.slice(this.#next[classIndex]) ?? [];
  }
}

function groupsOf(bin: Bin): readonly string[] {
  const groups = new Set<Group>();
  for (const { roles } of bin.contents.keys()) {
    for (const { group } of roles.onHost) groups.add(group);
    for (const { group } of roles.onDomain) groups.add(group);
  }
  return [...new Set([...groups].map(({ text }) => text))].sort();
}

function optionOf({ type, offering }: Offer, nodeChargeMicrosPerHour: number): BinOption {
  return {
    instanceType: type.type.name,
    zone: offering.zone,
    capacityType: offering.capacityType,
    priceMicrosPerHour: offering.priceMicrosPerHour - nodeChargeMicrosPerHour,
    ...(offering.reservation === undefined ? {} : { reservationId: offering.reservation.id }),
  };
}

/**
 * Returns the requirements of the claim: those of its pool and pods, narrowed to the options and
 * their types.
 */
function claimRequirements(
  state: State,
  options: readonly Offer[],
  typeNames: readonly string[],
): Requirements {
  const narrowed = new Map<string, ValueSet>(
    withoutLaterLabels(state.requirements, state.template.pool),
  );
  const only = (key: string, values: Iterable<string>): void => {
    const minValues = state.requirements.get(key)?.minValues;
    narrowed.set(key, {
      kind: 'in',
      values: new Set(values),
      present: true,
      ...(minValues === undefined ? {} : { minValues }),
    });
  };
  only(labels.instanceType, typeNames);
  only(
    labels.zone,
    options.map(({ offering }) => offering.zone),
  );
  only(
    labels.capacityType,
    options.map(({ offering }) => offering.capacityType),
  );
  return narrowed;
}

/**
 * Chooses a value for a required label that has none: the first allowed value in text order, or the
 * smallest number that fits. Where the list excludes every number within the bounds, leading zeros
 * spell one anew, which Kubernetes compares as the same number.
 */
function anyValueOf(set: ValueSet): string | undefined {
  if (isEmptySet(set) || !set.present) return undefined;
  if (set.kind === 'in') return [...set.values].filter((value) => admits(set, value)).sort()[0];
  // Each excluded value rules out one candidate, so one more candidate than those is enough.
  const first = Math.max(0, set.gte ?? 0);
  const last = Math.min(set.lte ?? Infinity, first + set.values.size);
  for (let number = first; number <= last; number += 1)
    if (admits(set, String(number))) return String(number);
  for (let zeros = 1; zeros <= set.values.size + 1; zeros += 1) {
    const text = `${'0'.repeat(zeros)}${first}`;
    if (admits(set, text)) return text;
  }
  return undefined;
}

/**
 * Returns the labels that the claim fixes: those of the pool, the pool's name, and one value per
 * custom label that pods or pool require.
 */
function labelsOf(engine: Engine, state: State): Readonly<Record<string, string>> {
  const { pool } = state.template;
  const fixed: Record<string, string> = {};
  for (const key of [...withoutLaterLabels(state.requirements, pool).keys()].sort()) {
    if (engine.world.wellKnown.has(key)) continue;
    const value = anyValueOf(state.requirements.get(key) as ValueSet);
    if (value !== undefined) put(fixed, key, value);
  }
  return { ...fixed, ...pool.labels, [poolLabelOf(pool.identity.kind)]: pool.identity.name };
}

/**
 * Adds the smallest daemonset overhead to the pods' requests, as Karpenter counts the requests of a
 * claim.
 */
function requestsOf(engine: Engine, bin: Bin, overhead: Float64Array): Resources {
  const total = requestsIn(bin);
  addTo(total, overhead, 1);
  return resourcesOf(engine.world.dimensions, total);
}

/** The parts that new nodes with the same offers have in common. */
type Shared = Pick<
  NewNode,
  'options' | 'requirements' | 'labels' | 'notes' | 'minValuesRelaxed'
> & { readonly overhead: Float64Array };

/**
 * Returns the smallest daemonset overhead of the types, per resource. Types share few overhead
 * vectors, so each vector is read once.
 */
function leastOverhead(types: Iterable<TypeRoom>): Float64Array {
  const [first, ...others] = new Set([...types].map(({ overhead }) => overhead));
  const least = Float64Array.from(first ?? []);
  for (const other of others)
    other.forEach((amount, r) => {
      least[r] = Math.min(float64At(least, r), amount);
    });
  return least;
}

/**
 * Renders each list of offers once, because thousands of nodes may share a list. Different lists
 * share most of their offers, so each offer is rendered once too.
 */
class Rendering {
  readonly #engine: Engine;
  readonly #options = new Map<readonly Offer[], readonly BinOption[]>();
  readonly #sorted = new Map<Template, readonly TypeRoom[]>();
  readonly #known = new Map<readonly Offer[], Map<State, Shared>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  of(state: State, offers: readonly Offer[]): Shared {
    let byState = this.#known.get(offers);
    if (byState === undefined) this.#known.set(offers, (byState = new Map<State, Shared>()));
    let shared = byState.get(state);
    if (shared === undefined) byState.set(state, (shared = this.#render(state, offers)));
    return shared;
  }

  #render(state: State, offers: readonly Offer[]): Shared {
    const types = new Set(offers.map(({ type }) => type));
    // The list is sorted once per template instead of once per node.
    const names = this.#typesByName(state.template)
      .filter((type) => types.has(type))
      .map(({ type }) => type.name);
    return {
      options: this.#optionsOf(state, offers),
      requirements: toSpecs(claimRequirements(state, offers, names)),
      labels: labelsOf(this.#engine, state),
      notes: notesOf(this.#engine, state, {
        cheapest: at(offers, 0).type.type.name,
        count: new Set(names).size,
      }),
      minValuesRelaxed: !meetsMinValues(state, offers),
      overhead: leastOverhead(types),
    };
  }

  #typesByName(template: Template): readonly TypeRoom[] {
    let sorted = this.#sorted.get(template);
    if (sorted === undefined) {
      sorted = [...new Set(template.offers.map(({ type }) => type))].sort((a, b) =>
        compareText(a.type.name, b.type.name),
      );
      this.#sorted.set(template, sorted);
    }
    return sorted;
  }

  /** Returns the options of some offers of a state. Invariant: they are in the state's order. */
  #optionsOf(state: State, offers: readonly Offer[]): readonly BinOption[] {
    let all = this.#options.get(state.offers);
    if (all === undefined) {
      const { nodeChargeMicrosPerHour: charge } = this.#engine.world.options;
      all = state.offers.map((offer) => optionOf(offer, charge));
      this.#options.set(state.offers, all);
    }
    const options: BinOption[] = [];
    let place = 0;
    for (const offer of offers) {
      while (place < all.length && state.offers[place] !== offer) place += 1;
      options.push(at(all, place));
    }
    return options;
  }
}

function newNodeOf(
  engine: Engine,
  bin: Bin,
  what: { readonly id: string; readonly source: PodSource; readonly shared: Shared },
): NewNode {
  const { pool } = (bin.state as State).template;
  const { options, requirements, labels: fixed, notes, overhead, minValuesRelaxed } = what.shared;
  return {
    id: what.id,
    pool: pool.identity,
    options,
    requirements,
    labels: fixed,
    taints: pool.taints,
    requests: requestsOf(engine, bin, overhead),
    podUids: what.source.take(bin),
    topologyGroups: groupsOf(bin),
    minValuesRelaxed,
    notes,
  };
}

function placementOf(bin: Bin, source: PodSource): Placement {
  const { node } = present(bin.room, 'each existing node has a room');
  return {
    nodeName: node.name,
    nodeUid: node.uid,
    podUids: source.take(bin),
    topologyGroups: groupsOf(bin),
  };
}

/** Turns an outcome into the nodes and placements of the plan, and the pods left over per class. */
export function finish(outcome: Outcome): {
  readonly newNodes: readonly NewNode[];
  readonly placements: readonly Placement[];
  readonly restOf: (classIndex: number) => readonly string[];
} {
  const { engine } = outcome;
  const source = new PodSource(engine.world.classes.length);
  const placements = engine.existing
    .filter((bin) => bin.contents.size > 0)
    .map((bin) => placementOf(bin, source));
  const filled = engine.fresh.filter((bin) => bin.contents.size > 0);
  const rendering = new Rendering(engine);
  const choices = widen(engine, filled);
  const newNodes = filled.map((bin, index) =>
    newNodeOf(engine, bin, {
      id: `bin-${index}`,
      source,
      shared: rendering.of(bin.state as State, at(choices, index)),
    }),
  );
  return { newNodes, placements, restOf: (classIndex) => source.rest(engine, classIndex) };
}
