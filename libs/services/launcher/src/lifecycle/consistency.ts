import type { NodeClaim } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { formatResources, type Node, type Resources } from '@dovetail/core-kube-model';
import type { NewCondition } from '@dovetail/service-kit';

/** Karpenter's condition on a NodeClaim: its node is as large as it was bought to be. */
export const consistencyType = 'ConsistentStateFound';

/** The least share of an expected resource that a node must have (Karpenter's NodeShape). */
const shareMin = 0.9;

/**
 * The requested resources of which a node has less than 90 % of its claim's capacity, in
 * Karpenter's words. Resources that the claim does not request do not count.
 */
export function consistencyIssues(
  { requests, capacity }: Pick<NodeClaim, 'requests' | 'capacity'>,
  node: Pick<Node, 'capacity'>,
): readonly string[] {
  return Object.keys(requests)
    .filter((name) => (lookUp(requests, name) ?? 0) > 0)
    .sort()
    .flatMap((name) => {
      const [expected = 0, found = 0] = [lookUp(capacity, name), lookUp(node.capacity, name)];
      if (expected === 0 || found / expected >= shareMin) return [];
      const percent = ((100 * found) / expected).toFixed(1);
      return `expected ${textOf(name, capacity)} of resource ${name}, but found ${textOf(name, { [name]: found })} (${percent}% of expected)`;
    });
}

const textOf = (name: string, resources: Resources): string =>
  String(lookUp(formatResources({ [name]: lookUp(resources, name) ?? 0 }), name));

/** The condition that these issues lead to. */
export const consistencyOf = (issues: readonly string[]): NewCondition =>
  issues.length === 0
    ? { type: consistencyType, status: 'True', reason: consistencyType }
    : {
        type: consistencyType,
        status: 'False',
        reason: 'ConsistencyCheckFailed',
        message: 'Consistency Check Failed',
      };
