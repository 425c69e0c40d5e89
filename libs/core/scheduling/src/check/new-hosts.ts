import { classLabelOf, labels, type Pool, poolKey, poolLabelOf } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { at, lookUp, put } from '@dovetail/core-invariant';
import { admits, type Pod, type Requirements, type ValueSet } from '@dovetail/core-kube-model';

import type { BinOption, NewNode } from '../plan.js';
import type { PoolOptions, Snapshot } from '../snapshot.js';
import { Blueprint, canonical, type Host, type Labels, read, type Variant } from './hosts.js';

/** The labels that every node of a type has, and those that its launch decides. */
type TypeLabels = {
  readonly fixed: Labels;
  readonly decided: readonly (readonly [string, ValueSet])[];
};

const labelsOfTypes = new WeakMap<InstanceType, TypeLabels>();
function labelsOfType(type: InstanceType): TypeLabels {
  const known = labelsOfTypes.get(type);
  if (known !== undefined) return known;
  const fixed: Record<string, string> = {};
  const decided: (readonly [string, ValueSet])[] = [];
  for (const [key, set] of type.requirements) {
    const [value] = set.values;
    if (set.kind === 'in' && set.values.size === 1 && value !== undefined) put(fixed, key, value);
    else if (set.kind === 'in') decided.push([key, set]);
  }
  const result = { fixed, decided };
  labelsOfTypes.set(type, result);
  return result;
}

/**
 * Returns a type's labels after the claim's requirements have decided some. Labels that the
 * requirements rule out are absent.
 */
function typeLabels(type: InstanceType, asked: Requirements): Labels {
  const { fixed, decided } = labelsOfType(type);
  const result: Record<string, string> = { ...fixed };
  for (const [key, other] of asked) {
    const value = lookUp(fixed, key);
    if (value !== undefined && !admits(other, value)) delete result[key];
  }
  for (const [key, set] of decided) {
    const other = asked.get(key);
    const open = [...set.values].filter((value) => other === undefined || admits(other, value));
    if (open.length === 1) put(result, key, at(open, 0));
  }
  return result;
}

/**
 * The hostname of a new node, which is unknown before launch. As a topology domain, the bin's id is
 * used instead.
 */
const notNamedYet = '(a new node)';

/** The labels that the launcher and the node's registration add to what a plan says. */
const laterLabels = ({ classRef }: Pool): Labels => ({
  [classLabelOf(classRef)]: classRef.name,
  [labels.registered]: 'true',
  [labels.initialized]: 'true',
});

/** Returns the labels that a node has for any of its options, by type. */
function labelsByType(
  bin: NewNode,
  pool: PoolOptions | undefined,
  types: Iterable<InstanceType>,
): ReadonlyMap<InstanceType, Labels> {
  const own = {
    ...canonical(bin.labels),
    [poolLabelOf(bin.pool.kind)]: bin.pool.name,
    ...(pool === undefined ? {} : laterLabels(pool.pool)),
  };
  const asked = read(bin.requirements);
  return new Map(
    [...types].map((type) => [
      type,
      {
        [labels.hostname]: notNamedYet,
        ...typeLabels(type, asked),
        ...own,
        [labels.instanceType]: type.name,
      },
    ]),
  );
}

const offeringLabels = (offering: Offering): Labels => ({
  [labels.zone]: offering.zone,
  [labels.capacityType]: offering.capacityType,
  ...(offering.zoneId === undefined ? {} : { [labels.zoneId]: offering.zoneId }),
});

const sameWay = (offering: Offering, option: BinOption): boolean =>
  offering.zone === option.zone &&
  offering.capacityType === option.capacityType &&
  offering.reservation?.id === option.reservationId;

const byName = new WeakMap<PoolOptions, ReadonlyMap<string, InstanceType>>();
function typesByName(pool: PoolOptions): ReadonlyMap<string, InstanceType> {
  const types = byName.get(pool) ?? new Map(pool.instanceTypes.map((type) => [type.name, type]));
  byName.set(pool, types);
  return types;
}

function variantsOf(bin: NewNode, pool: PoolOptions | undefined): readonly Variant[] {
  const types = pool === undefined ? new Map<string, InstanceType>() : typesByName(pool);
  const named = bin.options.flatMap((of) => types.get(of.instanceType) ?? []);
  const byType = labelsByType(bin, pool, new Set(named));
  return bin.options.flatMap((of) => {
    const type = types.get(of.instanceType);
    const offering = type?.offerings.find((one) => sameWay(one, of));
    if (type === undefined || offering === undefined) return [];
    return [
      {
        labels: { ...byType.get(type), ...offeringLabels(offering) },
        option: { of, type, offering },
      },
    ];
  });
}

/**
 * The forms that a claim allows beside the options of its bin. It names types, zones and capacity
 * types apart, so a type may be launched where only another one is an option.
 */
export function otherForms(variants: readonly Variant[]): readonly Variant[] {
  const options = variants.flatMap(({ option }) => option ?? []);
  const zones = new Set(options.map(({ offering }) => offering.zone));
  const capacityTypes = new Set(options.map(({ offering }) => offering.capacityType));
  const named = new Map(variants.map((variant) => [variant.option?.type, variant]));
  const known = new Set(options.map(({ offering }) => offering));
  return [...named.values()].flatMap(({ labels: own, option }) =>
    (option?.type.offerings ?? []).flatMap((offering) =>
      option === undefined ||
      known.has(offering) ||
      !zones.has(offering.zone) ||
      !capacityTypes.has(offering.capacityType)
        ? []
        : [{ labels: { ...own, ...offeringLabels(offering) }, option: { ...option, offering } }],
    ),
  );
}

type Drawn = {
  readonly bin: NewNode;
  readonly pool: PoolOptions | undefined;
  readonly blueprint: Blueprint;
};

// Results are kept per list of options, because values never change. Nodes of one plan share such
// lists, and admission checks them one by one beside all others.
const drawn = new WeakMap<readonly BinOption[], Drawn[]>();

/** The blueprint of a new node. Bins with equal pool, options, requirements and labels share it. */
function blueprintOf(bin: NewNode, pool: PoolOptions | undefined): Blueprint {
  const alike = drawn.get(bin.options) ?? [];
  drawn.set(bin.options, alike);
  const same = ({ bin: other, pool: its }: Drawn): boolean =>
    its === pool &&
    other.requirements === bin.requirements &&
    other.labels === bin.labels &&
    poolKey(other.pool) === poolKey(bin.pool);
  const found = alike.find(same);
  if (found !== undefined) return found.blueprint;
  const blueprint = new Blueprint(variantsOf(bin, pool), pool);
  alike.push({ bin, pool, blueprint });
  return blueprint;
}

// Admission asks about the nodes of a plan one by one, each beside all that follow. The checker
// keeps what it has read of a node over questions: otherwise each would cost as much as all.
const known = new WeakMap<NewNode, Host>();

/** The new nodes of a plan, with the pods that are planned there. */
export function newHosts(
  snapshot: Pick<Snapshot, 'pools'>,
  newNodes: readonly NewNode[],
  podsOn: (bin: NewNode) => readonly Pod[],
): readonly Host[] {
  const pools = poolsByKey(snapshot.pools);
  return newNodes.map((bin): Host => {
    const blueprint = blueprintOf(bin, pools.get(poolKey(bin.pool)));
    const planned = podsOn(bin);
    const before = known.get(bin);
    if (before?.blueprint === blueprint && areSame(before.planned, planned)) return before;
    const host: Host = {
      name: bin.id,
      bin,
      taints: blueprint.pool?.pool.taints ?? bin.taints,
      blueprint,
      running: [],
      planned,
    };
    known.set(bin, host);
    return host;
  });
}

const areSame = (some: readonly Pod[], others: readonly Pod[]): boolean =>
  some.length === others.length && some.every((pod, index) => pod === others[index]);

const byKey = new WeakMap<readonly PoolOptions[], ReadonlyMap<string, PoolOptions>>();
function poolsByKey(pools: readonly PoolOptions[]): ReadonlyMap<string, PoolOptions> {
  const known = byKey.get(pools) ?? new Map(pools.map((one) => [poolKey(one.pool.identity), one]));
  byKey.set(pools, known);
  return known;
}
