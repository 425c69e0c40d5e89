import { lookUp } from '@dovetail/core-invariant';

import type { LabelSelectorSpec, Pod, SpreadSpec } from '../model/objects.js';
import { type LabelTest, selectorTest } from '../model/selectors.js';
import type { NodeInfo } from './cache.js';
import { nodeAffinityAllows, untolerated } from './matching.js';

/** A spread constraint with the counts of the nodes as they are. */
export type CountedSpread = {
  readonly spec: SpreadSpec;
  readonly counts: ReadonlyMap<string, number>;
  /** Pods in the emptiest domain; zero when there are fewer domains than minDomains. */
  readonly least: number;
  readonly selfMatches: boolean;
};

/** The selector with the values of matchLabelKeys that the pod itself has. */
function selectorOf(
  spec: { readonly labelSelector?: LabelSelectorSpec; readonly matchLabelKeys?: readonly string[] },
  pod: Pod,
): LabelTest {
  const labels = pod.metadata.labels ?? {};
  const keys = (spec.matchLabelKeys ?? []).filter((key) => lookUp(labels, key) !== undefined);
  if (keys.length === 0 || spec.labelSelector === undefined)
    return selectorTest(spec.labelSelector);
  const added = keys.map((key) => ({
    key,
    operator: 'In',
    values: [lookUp(labels, key) as string],
  }));
  return selectorTest({
    ...spec.labelSelector,
    matchExpressions: [...(spec.labelSelector.matchExpressions ?? []), ...added],
  });
}

function counted(
  spec: SpreadSpec,
  pod: Pod,
  nodes: readonly NodeInfo[],
  keys: readonly string[],
): CountedSpread {
  const matches = selectorOf(spec, pod);
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const domain = lookUp(node.labels, spec.topologyKey);
    if (domain === undefined || keys.some((key) => lookUp(node.labels, key) === undefined))
      continue;
    if (spec.nodeAffinityPolicy !== 'Ignore' && !nodeAffinityAllows(pod, node)) continue;
    if (
      spec.nodeTaintsPolicy === 'Honor' &&
      untolerated(pod.spec.tolerations, node.taints, ['NoSchedule', 'NoExecute']) !== undefined
    )
      continue;
    let count = counts.get(domain) ?? 0;
    for (const other of node.pods.values()) {
      if (
        other.metadata.namespace === pod.metadata.namespace &&
        other.metadata.deletionTimestamp === undefined &&
        matches(other.metadata.labels)
      )
        count += 1;
    }
    counts.set(domain, count);
  }
  const fewest = counts.size === 0 ? 0 : Math.min(...counts.values());
  const least = spec.minDomains !== undefined && counts.size < spec.minDomains ? 0 : fewest;
  return { spec, counts, least, selfMatches: matches(pod.metadata.labels) };
}

/** The pod's constraints of one kind, counted over the nodes that each of them looks at. */
export function countSpread(
  pod: Pod,
  nodes: readonly NodeInfo[],
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway',
): readonly CountedSpread[] {
  const specs = (pod.spec.topologySpreadConstraints ?? []).filter(
    (spec) => spec.whenUnsatisfiable === whenUnsatisfiable,
  );
  const keys = specs.map((spec) => spec.topologyKey);
  return specs.map((spec) => counted(spec, pod, nodes, keys));
}

/** Why spread forbids the node; undefined when it does not. */
export function spreadProblem(
  spreads: readonly CountedSpread[],
  node: NodeInfo,
): 'missing-label' | 'skew' | undefined {
  for (const { spec, counts, least, selfMatches } of spreads) {
    const domain = lookUp(node.labels, spec.topologyKey);
    if (domain === undefined) return 'missing-label';
    const skew = (counts.get(domain) ?? 0) + (selfMatches ? 1 : 0) - least;
    if (skew > spec.maxSkew) return 'skew';
  }
  return undefined;
}
