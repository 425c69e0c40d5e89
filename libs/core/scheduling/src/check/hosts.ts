import { labels, poolKey, poolLabelOf } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import {
  admits,
  admitsAbsence,
  type NodeSelectorTerm,
  type Pod,
  type Requirements,
  requirementsFromLabels,
  requirementsOf,
  type RequirementSpec,
  type Taint,
  type ValueSet,
} from '@dovetail/core-kube-model';

import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, PoolOptions, Snapshot } from '../snapshot.js';

// The checker shares only types and Kubernetes' own rules (kube-model) with the planner, so that
// one mistake cannot hide in both. It reads finished nodes, label by label, and is written to be
// read. For speed, nodes with the same options share a blueprint, and each question is answered
// once per blueprint.

export type Labels = Readonly<Record<string, string>>;

/**
 * One form that a node of the plan may take: an option of a new node, or an existing node as it is.
 */
export type Variant = {
  readonly labels: Labels;
  /**
   * For a claim in flight, the labels whose values are undecided. Every possible value must pass.
   */
  readonly open?: Requirements;
  readonly option?: {
    readonly of: BinOption;
    readonly type: InstanceType;
    readonly offering: Offering;
  };
};

/** The forms that a node may take. Nodes that differ only in their pods share one blueprint. */
export class Blueprint {
  readonly variants: readonly Variant[];
  readonly pool: PoolOptions | undefined;
  /** The reservations that some variant would use. */
  readonly reservations: ReadonlySet<string>;
  readonly #answers = new Map<string, Variant | undefined>();

  constructor(variants: readonly Variant[], pool: PoolOptions | undefined) {
    this.variants = variants;
    this.pool = pool;
    this.reservations = new Set(
      variants.flatMap((variant) => variant.option?.of.reservationId ?? []),
    );
  }

  /**
   * Returns the first variant that fails a test. The answer is kept under `text`, which must
   * identify the test.
   */
  firstFailing(text: string, test: (variant: Variant) => boolean): Variant | undefined {
    if (!this.#answers.has(text))
      this.#answers.set(
        text,
        this.variants.find((variant) => !test(variant)),
      );
    return this.#answers.get(text);
  }
}

/** A node with its pods, existing or planned. */
export type Host = {
  readonly name: string;
  readonly existing?: ExistingNode;
  readonly bin?: NewNode;
  readonly taints: readonly Taint[];
  readonly blueprint: Blueprint;
  /** The pods that already count on this node. */
  readonly running: readonly Pod[];
  /** The pods that the plan puts on this node. */
  readonly planned: readonly Pod[];
};

/** Returns labels under their canonical names. */
const canonical = (raw: Labels): Labels => {
  const result: Record<string, string> = {};
  for (const [key, set] of requirementsFromLabels(raw))
    for (const value of set.values) result[key] = value;
  return result;
};

// Each list is parsed once, because all options of a node share it.
const parsed = new WeakMap<readonly RequirementSpec[], Requirements>();
function read(specs: readonly RequirementSpec[]): Requirements {
  const known = parsed.get(specs);
  if (known !== undefined) return known;
  const requirements = requirementsOf(specs);
  parsed.set(specs, requirements);
  return requirements;
}

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
    if (set.kind === 'in' && set.values.size === 1 && value !== undefined) fixed[key] = value;
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
    const value = fixed[key];
    if (value !== undefined && !admits(other, value)) delete result[key];
  }
  for (const [key, set] of decided) {
    const other = asked.get(key);
    const open = [...set.values].filter((value) => other === undefined || admits(other, value));
    if (open.length === 1) result[key] = at(open, 0);
  }
  return result;
}

/**
 * The hostname of a new node, which is unknown before launch. As a topology domain, the bin's id is
 * used instead.
 */
const notNamedYet = '(a new node)';

/** Returns the labels that a node has for any of its options, by type. */
function labelsByType(
  bin: NewNode,
  types: Iterable<InstanceType>,
): ReadonlyMap<InstanceType, Labels> {
  const own = { ...canonical(bin.labels), [poolLabelOf(bin.pool.kind)]: bin.pool.name };
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
  const byType = labelsByType(bin, new Set(named));
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

/**
 * Returns every existing node and every new node of the plan, with the pods that run and are
 * planned there.
 */
export function hostsOf(
  snapshot: Snapshot,
  planned: {
    readonly newNodes: readonly NewNode[];
    readonly podsOn: ReadonlyMap<string, readonly Pod[]>;
  },
  moving: ReadonlySet<string>,
): readonly Host[] {
  const counts = (pod: Pod): boolean =>
    pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && !moving.has(pod.uid);
  const existing = snapshot.nodes.map((node): Host => ({
    name: node.name,
    existing: node,
    taints: node.taints,
    blueprint: new Blueprint(
      [
        {
          labels: { [labels.hostname]: node.name, ...canonical(node.labels) },
          open: node.requirements,
        },
      ],
      undefined,
    ),
    running: [...node.pods, ...node.promisedPods].filter(counts),
    planned: planned.podsOn.get(`node ${node.uid}`) ?? [],
  }));
  const pools = new Map(snapshot.pools.map((one) => [poolKey(one.pool.identity), one]));
  const fresh = planned.newNodes.map((bin): Host => {
    const blueprint = blueprintOf(bin, pools.get(poolKey(bin.pool)));
    return {
      name: bin.id,
      bin,
      taints: blueprint.pool?.pool.taints ?? bin.taints,
      blueprint,
      running: [],
      planned: planned.podsOn.get(`bin ${bin.id}`) ?? [],
    };
  });
  return [...existing, ...fresh];
}

function labelSatisfies(variant: Variant, key: string, set: ValueSet): boolean {
  const value = variant.labels[key];
  if (value !== undefined) return admits(set, value);
  const open = variant.open?.get(key);
  if (open !== undefined && open.kind === 'in' && open.values.size > 0)
    return [...open.values].every((one) => admits(set, one));
  return admitsAbsence(set) && open === undefined;
}

/** Whether a node's labels satisfy every entry (node selector requirements of Kubernetes). */
export function labelsSatisfy(variant: Variant, wanted: readonly RequirementSpec[]): boolean {
  for (const [key, set] of read(wanted)) if (!labelSatisfies(variant, key, set)) return false;
  return true;
}

const termMatches = (variant: Variant, term: NodeSelectorTerm): boolean =>
  term.matchFields.length === 0 &&
  term.matchExpressions.length > 0 &&
  labelsSatisfy(variant, term.matchExpressions);

// The text of a pod's demands is kept, because it is needed for many nodes.
const demands = new WeakMap<Pod, string>();
function demandsOf(pod: Pod): string {
  const text =
    demands.get(pod) ?? JSON.stringify([pod.nodeSelector, pod.requiredNodeAffinity ?? null]);
  demands.set(pod, text);
  return text;
}

const asksNothing = (pod: Pod): boolean =>
  pod.requiredNodeAffinity === undefined && Object.keys(pod.nodeSelector).length === 0;

/**
 * Whether a pod's nodeSelector and required node affinity accept a node. `more` are additional
 * labels of the node.
 */
export function podAccepts(pod: Pod, bare: Variant, more: Labels = {}): boolean {
  if (asksNothing(pod)) return true;
  const variant = { ...bare, labels: { ...bare.labels, ...more } };
  for (const [key, set] of requirementsFromLabels(pod.nodeSelector))
    if (!labelSatisfies(variant, key, set)) return false;
  return (
    pod.requiredNodeAffinity === undefined ||
    pod.requiredNodeAffinity.some((term) => termMatches(variant, term))
  );
}

/** Returns the first variant of a node that a pod does not accept; undefined if it accepts all. */
export function firstRefused(pod: Pod, { blueprint }: Host): Variant | undefined {
  if (asksNothing(pod)) return undefined;
  return blueprint.firstFailing(demandsOf(pod), (variant) => podAccepts(pod, variant));
}

const domains = new WeakMap<Blueprint, Map<string, readonly (string | undefined)[]>>();

/**
 * Returns the values of a label over all variants of a node. Undefined stands for a variant without
 * the label.
 */
export function domainsOf(host: Host, key: string): readonly (string | undefined)[] {
  if (host.bin !== undefined && key === labels.hostname)
    return host.blueprint.variants.length === 0 ? [] : [host.name];
  const claim = host.existing?.requirements.get(key);
  if (claim?.kind === 'in' && host.existing?.labels[key] === undefined) return [...claim.values];
  const known = domains.get(host.blueprint) ?? new Map<string, readonly (string | undefined)[]>();
  domains.set(host.blueprint, known);
  const values = known.get(key) ?? [
    ...new Set(host.blueprint.variants.map((variant) => variant.labels[key])),
  ];
  known.set(key, values);
  return values;
}
