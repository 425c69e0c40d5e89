import { lookUp } from '@dovetail/core-invariant';

import type {
  LabelSelector,
  LabelSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  TopologySpreadConstraint,
  Weighted,
} from '../pod.js';
import type { Raw } from './raw.js';
import {
  Malformed,
  optional,
  readEach,
  readInteger,
  readOneOf,
  readRecord,
  readRequiredText,
  readTexts,
} from './raw.js';
import { readNodeSelector, readNodeSelectorTerm, readSelector, saysSomething } from './terms.js';

type Labels = Readonly<Record<string, string>>;

const sameRequirement = (a: LabelSelectorRequirement, b: LabelSelectorRequirement): boolean =>
  a.key === b.key &&
  a.operator === b.operator &&
  a.values.length === b.values.length &&
  a.values.every((value, index) => value === b.values[index]);

/**
 * Adds a pod's own values for `matchLabelKeys` (In) and `mismatchLabelKeys` (NotIn). Keys that the
 * pod lacks are ignored. A requirement that the API server merged already is not added twice.
 */
function withLabelKeys(
  selector: LabelSelector | undefined,
  labels: Labels,
  keys: { match: readonly string[]; mismatch: readonly string[] },
): LabelSelector | undefined {
  if (selector === undefined) return undefined;
  const merged = [...selector.requirements];
  const add = (key: string, operator: 'In' | 'NotIn'): void => {
    const value = lookUp(labels, key);
    if (value === undefined) return;
    const requirement: LabelSelectorRequirement = { key, operator, values: [value] };
    if (!merged.some((known) => sameRequirement(known, requirement))) merged.push(requirement);
  };
  for (const key of keys.match) add(key, 'In');
  for (const key of keys.mismatch) add(key, 'NotIn');
  return { requirements: merged };
}

function readRequired(raw: unknown, field: string, range: { min: number; max?: number }): number {
  const value = readInteger(raw, field, range);
  if (value === undefined)
    throw new Malformed(
      field,
      raw,
      `this field is required: write an integer, at least ${range.min}`,
    );
  return value;
}

/**
 * Reads spread constraints. By default they honour node affinity and ignore node taints, as in
 * Kubernetes.
 */
export function readTopologySpread(
  raw: unknown,
  field: string,
  labels: Labels,
): readonly TopologySpreadConstraint[] {
  return readEach(raw, field, (item, path): TopologySpreadConstraint => ({
    maxSkew: readRequired(item['maxSkew'], `${path}.maxSkew`, { min: 1 }),
    topologyKey: readRequiredText(item['topologyKey'], `${path}.topologyKey`),
    whenUnsatisfiable: readOneOf(item['whenUnsatisfiable'], `${path}.whenUnsatisfiable`, [
      'DoNotSchedule',
      'ScheduleAnyway',
    ]),
    ...optional(
      'selector',
      withLabelKeys(readSelector(item['labelSelector'], `${path}.labelSelector`), labels, {
        match: readTexts(item['matchLabelKeys'], `${path}.matchLabelKeys`),
        mismatch: [],
      }),
    ),
    ...optional('minDomains', readInteger(item['minDomains'], `${path}.minDomains`, { min: 1 })),
    nodeAffinityPolicy: readOneOf(
      item['nodeAffinityPolicy'],
      `${path}.nodeAffinityPolicy`,
      ['Honor', 'Ignore'],
      'Honor',
    ),
    nodeTaintsPolicy: readOneOf(
      item['nodeTaintsPolicy'],
      `${path}.nodeTaintsPolicy`,
      ['Honor', 'Ignore'],
      'Ignore',
    ),
  }));
}

function readAffinityTerm(item: Raw, path: string, labels: Labels): PodAffinityTerm {
  return {
    topologyKey: readRequiredText(item['topologyKey'], `${path}.topologyKey`),
    ...optional(
      'selector',
      withLabelKeys(readSelector(item['labelSelector'], `${path}.labelSelector`), labels, {
        match: readTexts(item['matchLabelKeys'], `${path}.matchLabelKeys`),
        mismatch: readTexts(item['mismatchLabelKeys'], `${path}.mismatchLabelKeys`),
      }),
    ),
    namespaces: readTexts(item['namespaces'], `${path}.namespaces`),
    ...optional(
      'namespaceSelector',
      readSelector(item['namespaceSelector'], `${path}.namespaceSelector`),
    ),
  };
}

type PodTerms = {
  readonly required: readonly PodAffinityTerm[];
  readonly preferred: readonly Weighted<PodAffinityTerm>[];
};

function readPodTerms(raw: unknown, field: string, labels: Labels): PodTerms {
  const affinity = readRecord(raw, field);
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return {
    required: readEach(affinity[required], `${field}.${required}`, (item, path) =>
      readAffinityTerm(item, path, labels),
    ),
    preferred: readEach(affinity[preferred], `${field}.${preferred}`, (item, path) => ({
      weight: readRequired(item['weight'], `${path}.weight`, { min: 1, max: 100 }),
      term: readAffinityTerm(
        readRecord(item['podAffinityTerm'], `${path}.podAffinityTerm`),
        `${path}.podAffinityTerm`,
        labels,
      ),
    })),
  };
}

/** The affinities of a pod, as `Pod` holds them. */
export type Affinities = {
  readonly requiredNodeAffinity?: readonly NodeSelectorTerm[];
  readonly preferredNodeAffinity: readonly Weighted<NodeSelectorTerm>[];
  readonly requiredPodAffinity: readonly PodAffinityTerm[];
  readonly preferredPodAffinity: readonly Weighted<PodAffinityTerm>[];
  readonly requiredPodAntiAffinity: readonly PodAffinityTerm[];
  readonly preferredPodAntiAffinity: readonly Weighted<PodAffinityTerm>[];
};

/** Reads `spec.affinity` of a pod with these labels. */
export function readAffinities(raw: unknown, field: string, labels: Labels): Affinities {
  const affinity = readRecord(raw, field);
  const node = readRecord(affinity['nodeAffinity'], `${field}.nodeAffinity`);
  const required = `${field}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`;
  const preferred = `${field}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`;
  const together = readPodTerms(affinity['podAffinity'], `${field}.podAffinity`, labels);
  const apart = readPodTerms(affinity['podAntiAffinity'], `${field}.podAntiAffinity`, labels);
  return {
    ...optional(
      'requiredNodeAffinity',
      readNodeSelector(node['requiredDuringSchedulingIgnoredDuringExecution'], required),
    ),
    preferredNodeAffinity: readEach(
      node['preferredDuringSchedulingIgnoredDuringExecution'],
      preferred,
      (item, path) => ({
        weight: readRequired(item['weight'], `${path}.weight`, { min: 1, max: 100 }),
        term: readNodeSelectorTerm(item['preference'], `${path}.preference`),
      }),
    ).filter(({ term }) => saysSomething(term)),
    requiredPodAffinity: together.required,
    preferredPodAffinity: together.preferred,
    requiredPodAntiAffinity: apart.required,
    preferredPodAntiAffinity: apart.preferred,
  };
}
