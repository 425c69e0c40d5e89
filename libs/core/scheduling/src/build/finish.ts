import { labels, poolLabelOf } from '@dovetail/core-api';
import { admits, isEmptySet, toSpecs, type Requirements, type Resources, type ValueSet } from '@dovetail/core-kube-model';
import type { State } from '../match/states.js';
import { addTo, resourcesOf } from '../model/dimensions.js';
import type { Offer } from '../model/templates.js';
import type { BinOption, NewNode, Placement } from '../plan.js';
import { chargeOf, cheapestTypes, offersFor } from './accounts.js';
import type { Bin } from './bin.js';
import type { Engine } from './engine.js';
import type { Outcome } from './sequence.js';
import { notesOf } from '../explain/notes.js';

/** Hands out the pods of each class, oldest first. */
class PodSource {
  readonly #next: number[];

  constructor(classes: number) {
    this.#next = Array.from({ length: classes }, () => 0);
  }

  take(bin: Bin): readonly string[] {
    const uids: string[] = [];
    for (const [item, count] of bin.contents) {
      const from = this.#next[item.cls.index] ?? 0;
      this.#next[item.cls.index] = from + count;
      for (let index = from; index < from + count; index += 1) uids.push(item.cls.uids[index] as string);
    }
    return uids;
  }

  /** Pods that nobody took. */
  rest(engine: Engine, classIndex: number): readonly string[] {
    return engine.world.classes[classIndex]?.uids.slice(this.#next[classIndex]) ?? [];
  }
}

const groupsOf = (bin: Bin): readonly string[] =>
  [...new Set([...bin.contents.keys()].flatMap((item) => [...item.roles.onHost, ...item.roles.onDomain].map((role) => role.group.text)))].sort();

/** How much of a limit widening has used, beyond what the nodes are charged. */
type Slack = Map<string, number>;

/** The offers that a bin may name. A reserved node names its reservation only; a limited pool's node stays within what is left. */
function optionsOf(engine: Engine, bin: Bin, slack: Slack): readonly Offer[] {
  const state = bin.state as State;
  const reservation = bin.offer?.offering.reservation;
  const all = offersFor(state, bin).filter(({ offering }) => offering.reservation?.id === reservation?.id);
  const charged = bin.offer;
  if (charged === undefined || !state.template.limited) return cheapestTypes(all, engine.world.options.instanceTypesMax);
  const names = Object.keys(state.template.remaining);
  const room = new Map(names.map((name) => [name, chargeOf(charged, name) + engine.accounts.left(state.template, name) - (slack.get(`${state.template.index} ${name}`) ?? 0)]));
  const kept = cheapestTypes(all.filter((offer) => names.every((name) => chargeOf(offer, name) <= (room.get(name) ?? 0))), engine.world.options.instanceTypesMax);
  for (const name of names) {
    const most = Math.max(...kept.map((offer) => chargeOf(offer, name)));
    const key = `${state.template.index} ${name}`;
    slack.set(key, (slack.get(key) ?? 0) + Math.max(0, most - chargeOf(charged, name)));
  }
  return kept;
}

function optionOf({ type, offering }: Offer): BinOption {
  return {
    instanceType: type.type.name, zone: offering.zone, capacityType: offering.capacityType, priceMicrosPerHour: offering.priceMicrosPerHour,
    ...(offering.reservation === undefined ? {} : { reservationId: offering.reservation.id }),
  };
}

/** Requirements of the claim: what pool and pods leave open, narrowed to the options. */
function claimRequirements(state: State, options: readonly Offer[]): Requirements {
  const narrowed = new Map<string, ValueSet>(state.requirements);
  const only = (key: string, values: Iterable<string>): void => {
    const minValues = state.requirements.get(key)?.minValues;
    narrowed.set(key, { kind: 'in', values: new Set(values), present: true, ...(minValues === undefined ? {} : { minValues }) });
  };
  only(labels.instanceType, options.map(({ type }) => type.type.name));
  only(labels.zone, options.map(({ offering }) => offering.zone));
  only(labels.capacityType, options.map(({ offering }) => offering.capacityType));
  return narrowed;
}

/** A value for a label that must exist and that nobody fixed: the first allowed one, or the smallest number that fits. */
function anyValueOf(set: ValueSet): string | undefined {
  if (isEmptySet(set) || !set.present) return undefined;
  if (set.kind === 'in') return [...set.values].filter((value) => admits(set, value)).sort()[0];
  for (let number = set.gte ?? 0; ; number += 1) if (admits(set, String(number))) return String(number);
}

/** Labels that the claim fixes: the pool's own, its name, and a value for every custom label that pods or pool demand. */
function labelsOf(engine: Engine, state: State): Readonly<Record<string, string>> {
  const { pool } = state.template;
  const fixed: Record<string, string> = {};
  for (const key of [...state.requirements.keys()].sort()) {
    if (engine.world.wellKnown.has(key)) continue;
    const value = anyValueOf(state.requirements.get(key) as ValueSet);
    if (value !== undefined) fixed[key] = value;
  }
  return { ...fixed, ...pool.labels, [poolLabelOf(pool.identity.kind)]: pool.identity.name };
}

/** Pods and the least that daemonsets take on any of the options (as Karpenter counts a claim's requests). */
function requestsOf(engine: Engine, bin: Bin, options: readonly Offer[]): Resources {
  const overhead = options.map(({ type }) => type.overhead).reduce((least, next) => least.map((amount, index) => Math.min(amount, next[index] ?? 0)));
  const total = Float64Array.from(bin.used);
  addTo(total, overhead, 1);
  return resourcesOf(engine.world.dimensions, total);
}

function newNodeOf(engine: Engine, bin: Bin, what: { readonly id: string; readonly source: PodSource; readonly slack: Slack }): NewNode {
  const state = bin.state as State;
  const options = optionsOf(engine, bin, what.slack);
  return {
    id: what.id, pool: state.template.pool.identity, options: options.map(optionOf),
    requirements: toSpecs(claimRequirements(state, options)), labels: labelsOf(engine, state), taints: state.template.pool.taints,
    requests: requestsOf(engine, bin, options), podUids: what.source.take(bin), topologyGroups: groupsOf(bin),
    minValuesRelaxed: bin.minValuesRelaxed, notes: notesOf(engine, bin, options),
  };
}

function placementOf(bin: Bin, source: PodSource): Placement {
  const node = bin.room?.node;
  return { nodeName: node?.name ?? '', nodeUid: node?.uid ?? '', podUids: source.take(bin), topologyGroups: groupsOf(bin) };
}

/** Nodes, placements and the pods left over, as the plan says them. */
export function finish(outcome: Outcome): { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[]; readonly restOf: (classIndex: number) => readonly string[] } {
  const { engine } = outcome;
  const source = new PodSource(engine.world.classes.length);
  const placements = engine.existing.filter((bin) => bin.contents.size > 0).map((bin) => placementOf(bin, source));
  const slack: Slack = new Map();
  const filled = engine.fresh.filter((bin) => bin.contents.size > 0);
  const newNodes = filled.map((bin, index) => newNodeOf(engine, bin, { id: `bin-${index}`, source, slack }));
  return { newNodes, placements, restOf: (classIndex) => source.rest(engine, classIndex) };
}
