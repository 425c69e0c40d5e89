import { lookUp } from '@dovetail/core-invariant';

import type { LabelSelector, LabelSelectorRequirement } from './pod.js';

function requirementMatches(
  requirement: LabelSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = lookUp(labels, requirement.key);
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && requirement.values.includes(value);
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/**
 * Whether a Kubernetes label selector selects these labels. An absent one selects nothing, an empty
 * one everything.
 */
export function selectorMatches(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    selector !== undefined &&
    selector.requirements.every((requirement) => requirementMatches(requirement, labels))
  );
}
