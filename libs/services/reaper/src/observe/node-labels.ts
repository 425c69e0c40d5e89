import { labels } from '@dovetail/core-api';
import { wellKnownLabels } from '@dovetail/core-ec2-model';
import { lookUp, put } from '@dovetail/core-invariant';
import type { Node } from '@dovetail/core-kube-model';

/** The label of a metric for a label of a node: its name without the prefix, in snake case. */
const metricLabels: readonly (readonly [string, string])[] = [
  ...wellKnownLabels,
  labels.nodePool,
].map((key) => [key, key.slice(key.indexOf('/') + 1).replaceAll('-', '_')]);

/**
 * The labels of a node's metrics. Labels that it does not have are left out, which is the same to
 * Prometheus. So is Karpenter's `phase`, which Kubernetes no longer sets.
 */
export function metricLabelsOf(
  { name, labels: held }: Node,
  isManaged: boolean,
): Readonly<Record<string, string>> {
  const found: Record<string, string> = { node_name: name, managed: String(isManaged) };
  for (const [key, label] of metricLabels) {
    const value = lookUp(held, key);
    if (value !== undefined && value !== '') put(found, label, value);
  }
  return found;
}
