import type { KubernetesVersion, NodeClass } from '@dovetail/core-api';

import type { KubeletProblem } from './kubelet.js';

/**
 * The last minor version of Kubernetes for which EKS publishes images of Amazon Linux 2
 * (https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html).
 */
const al2MinorMax = 32;

/**
 * The images of a class that nobody publishes for this version of Kubernetes, in field order. Such
 * a class never becomes ready. Empty for images that are named in another way.
 */
export function imageProblems(
  { amiSelectorTerms }: Pick<NodeClass, 'amiSelectorTerms'>,
  { major, minor }: KubernetesVersion,
): readonly KubeletProblem[] {
  if (minor <= al2MinorMax) return [];
  return amiSelectorTerms.flatMap(({ alias }, index) =>
    alias?.toLowerCase().startsWith('al2@') === true
      ? [
          {
            field: `spec.amiSelectorTerms[${index}].alias`,
            value: JSON.stringify(alias),
            remedy: `EKS publishes no Amazon Linux 2 image for Kubernetes ${major}.${minor}: write al2023@latest`,
          },
        ]
      : [],
  );
}
