import { labels } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { lookUp, put } from '@dovetail/core-invariant';
import {
  admits,
  admitsAbsence,
  hasIntersection,
  type NodeSelectorTerm,
  type Pod,
  type Requirements,
  requirementsFromLabels,
  requirementsFromSelector,
  requirementsOf,
  type RequirementSpec,
  type Taint,
  type ValueSet,
} from '@dovetail/core-kube-model';

import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, PoolOptions } from '../snapshot.js';

// The checker shares only types and Kubernetes' own rules (kube-model) with the planner, so that
// one mistake cannot hide in both. It reads finished nodes, label by label, and is written to be
// read. For speed, nodes with the same options share a blueprint, and each question is answered
// once per blueprint.

/** Labels of a node, by key. */
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
    if (!this.#answers.has(text)) {
      if (this.#answers.size >= answersMax) this.#answers.clear();
      this.#answers.set(
        text,
        this.variants.find((variant) => !test(variant)),
      );
    }
    return this.#answers.get(text);
  }
}

/**
 * The most answers that a node remembers. Nodes of a launcher live as long as it leads, and with
 * 5,000 of them this many short texts each are some 30 MB.
 */
export const answersMax = 128;

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
export const canonical = (raw: Labels): Labels => {
  const result: Record<string, string> = {};
  for (const [key, set] of requirementsFromLabels(raw))
    for (const value of set.values) put(result, key, value);
  return result;
};

// Each list is parsed once, because all options of a node share it.
const parsed = new WeakMap<readonly RequirementSpec[], Requirements>();
/** Requirements as sets of values. */
export function read(specs: readonly RequirementSpec[]): Requirements {
  const known = parsed.get(specs);
  if (known !== undefined) return known;
  const requirements = requirementsOf(specs);
  parsed.set(specs, requirements);
  return requirements;
}

/** A node that exists, with what runs and is promised there, and nothing planned. */
export const hostOf = (node: ExistingNode): Host => ({
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
  running: [...node.pods, ...node.promisedPods].filter(
    (pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed',
  ),
  planned: [],
});

/** A host with pods planned on it; pods that are planned anywhere no longer run on it. */
export const planning = (
  host: Host,
  planned: readonly Pod[],
  moving: ReadonlySet<string>,
): Host => ({ ...host, running: host.running.filter((pod) => !moving.has(pod.uid)), planned });

function labelSatisfies(variant: Variant, key: string, set: ValueSet): boolean {
  const value = lookUp(variant.labels, key);
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
  for (const [key, set] of requirementsFromSelector(pod.nodeSelector))
    if (!labelSatisfies(variant, key, set)) return false;
  return (
    pod.requiredNodeAffinity === undefined ||
    pod.requiredNodeAffinity.some((term) => termMatches(variant, term))
  );
}

/** Whether some value that a label may have is among those admitted. */
const mayAdmit = (variant: Variant, key: string, set: ValueSet): boolean => {
  const open = lookUp(variant.labels, key) === undefined ? variant.open?.get(key) : undefined;
  return open === undefined ? labelSatisfies(variant, key, set) : hasIntersection(open, set);
};

/**
 * Whether a pod accepts a node with some value of each undecided label. A daemonset may then come
 * to run there.
 */
export function podMayAccept(pod: Pod, bare: Variant, more: Labels): boolean {
  const variant = { ...bare, labels: { ...bare.labels, ...more } };
  const may = (wanted: Requirements): boolean =>
    [...wanted].every(([key, set]) => mayAdmit(variant, key, set));
  return (
    may(requirementsFromSelector(pod.nodeSelector)) &&
    (pod.requiredNodeAffinity === undefined ||
      pod.requiredNodeAffinity.some(
        ({ matchFields, matchExpressions }) =>
          matchFields.length === 0 && matchExpressions.length > 0 && may(read(matchExpressions)),
      ))
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
  if (claim?.kind === 'in' && lookUp(host.existing?.labels, key) === undefined)
    return [...claim.values];
  const known = domains.get(host.blueprint) ?? new Map<string, readonly (string | undefined)[]>();
  domains.set(host.blueprint, known);
  const values = known.get(key) ?? [
    ...new Set(host.blueprint.variants.map((variant) => lookUp(variant.labels, key))),
  ];
  known.set(key, values);
  return values;
}
