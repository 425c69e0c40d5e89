import { labels, poolKey, poolLabelOf } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import {
  admits, admitsAbsence, requirementsFromLabels, requirementsOf,
  type NodeSelectorTerm, type Pod, type RequirementSpec, type Requirements, type Taint, type ValueSet,
} from '@dovetail/core-kube-model';
import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, PoolOptions, Snapshot } from '../snapshot.js';

// The checker shares nothing with the planner but types and Kubernetes' own rules (kube-model), so that one mistake
// cannot hide in both. It looks at finished nodes, label by label, and is written to be read, not to be fast.

export type Labels = Readonly<Record<string, string>>;

/** One way in which a node of the plan may come to be: an option of a new node, or an existing node as it is. */
export type Variant = {
  readonly labels: Labels;
  /** For a claim in flight: labels that will exist, but whose value is not decided; every possible value has to do. */
  readonly open?: Requirements;
  readonly option?: { readonly of: BinOption; readonly type: InstanceType; readonly offering: Offering };
};

/** A node with its pods, existing or planned. */
export type Host = {
  readonly name: string;
  readonly existing?: ExistingNode;
  readonly bin?: NewNode;
  readonly pool?: PoolOptions;
  readonly taints: readonly Taint[];
  readonly variants: readonly Variant[];
  /** Pods that count here already. */
  readonly running: readonly Pod[];
  /** Pods that the plan puts here. */
  readonly planned: readonly Pod[];
};

/** Labels under their canonical names. */
const canonical = (raw: Labels): Labels => {
  const result: Record<string, string> = {};
  for (const [key, set] of requirementsFromLabels(raw)) for (const value of set.values) result[key] = value;
  return result;
};

// Parsing the same lists again for every option would take most of the checker's time.
const parsed = new WeakMap<readonly RequirementSpec[], Requirements>();
function read(specs: readonly RequirementSpec[]): Requirements {
  const known = parsed.get(specs);
  if (known !== undefined) return known;
  const requirements = requirementsOf(specs);
  parsed.set(specs, requirements);
  return requirements;
}

function typeLabels(type: InstanceType, asked: Requirements): Labels {
  const result: Record<string, string> = {};
  for (const [key, set] of type.requirements) {
    if (set.kind !== 'in') continue;
    const other = asked.get(key);
    const open = [...set.values].filter((value) => other === undefined || admits(other, value));
    const [value] = open;
    if (value !== undefined && open.length === 1) result[key] = value;
  }
  return result;
}

/** What a node is labelled whatever it is launched as, by type. */
function labelsByType(bin: NewNode, types: Iterable<InstanceType>): ReadonlyMap<InstanceType, Labels> {
  const own = { ...canonical(bin.labels), [poolLabelOf(bin.pool.kind)]: bin.pool.name };
  const asked = read(bin.requirements);
  return new Map([...types].map((type) => [type, { [labels.hostname]: bin.id, ...typeLabels(type, asked), ...own, [labels.instanceType]: type.name }]));
}

const offeringLabels = (offering: Offering): Labels => ({
  [labels.zone]: offering.zone, [labels.capacityType]: offering.capacityType,
  ...(offering.zoneId === undefined ? {} : { [labels.zoneId]: offering.zoneId }),
});

const sameWay = (offering: Offering, option: BinOption): boolean =>
  offering.zone === option.zone && offering.capacityType === option.capacityType && offering.reservation?.id === option.reservationId;

function variantsOf(bin: NewNode, pool: PoolOptions | undefined): readonly Variant[] {
  const types = new Map((pool?.instanceTypes ?? []).map((type) => [type.name, type]));
  const named = bin.options.flatMap((of) => types.get(of.instanceType) ?? []);
  const byType = labelsByType(bin, new Set(named));
  return bin.options.flatMap((of) => {
    const type = types.get(of.instanceType);
    const offering = type?.offerings.find((one) => sameWay(one, of));
    if (type === undefined || offering === undefined) return [];
    return [{ labels: { ...byType.get(type), ...offeringLabels(offering) }, option: { of, type, offering } }];
  });
}

/** Every node that exists and every new node of the plan, with what runs and what is planned there. */
export function hostsOf(snapshot: Snapshot, planned: { readonly newNodes: readonly NewNode[]; readonly podsOn: ReadonlyMap<string, readonly Pod[]> }, moving: ReadonlySet<string>): readonly Host[] {
  const counts = (pod: Pod): boolean => pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && !moving.has(pod.uid);
  const pools = new Map(snapshot.pools.map((one) => [poolKey(one.pool.identity), one]));
  const existing = snapshot.nodes.map((node) => ({
    name: node.name, existing: node, taints: node.taints, variants: [{ labels: { [labels.hostname]: node.name, ...canonical(node.labels) }, open: node.requirements }],
    running: [...node.pods, ...node.promisedPods].filter(counts), planned: planned.podsOn.get(`node ${node.uid}`) ?? [],
  }));
  const fresh = planned.newNodes.map((bin) => {
    const pool = pools.get(poolKey(bin.pool));
    return {
      name: bin.id, bin, ...(pool === undefined ? {} : { pool }), taints: pool?.pool.taints ?? bin.taints, variants: variantsOf(bin, pool),
      running: [], planned: planned.podsOn.get(`bin ${bin.id}`) ?? [],
    };
  });
  return [...existing, ...fresh];
}

function labelSatisfies(variant: Variant, key: string, set: ValueSet): boolean {
  const value = variant.labels[key];
  if (value !== undefined) return admits(set, value);
  const open = variant.open?.get(key);
  if (open !== undefined && open.kind === 'in' && open.values.size > 0) return [...open.values].every((one) => admits(set, one));
  return admitsAbsence(set) && open === undefined;
}

/** Whether a node's labels satisfy every entry (Kubernetes' node selector requirements). */
export function labelsSatisfy(variant: Variant, wanted: readonly RequirementSpec[]): boolean {
  for (const [key, set] of read(wanted)) if (!labelSatisfies(variant, key, set)) return false;
  return true;
}

const termMatches = (variant: Variant, term: NodeSelectorTerm): boolean =>
  term.matchFields.length === 0 && term.matchExpressions.length > 0 && labelsSatisfy(variant, term.matchExpressions);

/** Whether a pod's nodeSelector and required node affinity accept a node. */
export function podAccepts(pod: Pod, variant: Variant): boolean {
  if (pod.requiredNodeAffinity === undefined && Object.keys(pod.nodeSelector).length === 0) return true;
  for (const [key, set] of requirementsFromLabels(pod.nodeSelector)) if (!labelSatisfies(variant, key, set)) return false;
  return pod.requiredNodeAffinity === undefined || pod.requiredNodeAffinity.some((term) => termMatches(variant, term));
}

/** The values of a label over all the ways the node may come to be; undefined stands for its absence. */
export const domainsOf = (host: Host, key: string): readonly (string | undefined)[] => {
  const claim = host.existing?.requirements.get(key);
  if (claim?.kind === 'in' && host.existing?.labels[key] === undefined) return [...claim.values];
  return [...new Set(host.variants.map((variant) => variant.labels[key]))];
};
