import type { Parsed } from '@dovetail/core-kube-model';

/** Fields of a manifest that a test adds or replaces. */
export type Part = Record<string, unknown>;

/** The metadata of every manifest of these tests. */
export const metadata = { name: 'default', uid: 'u-1' };

/** The value that was read; throws with field and remedy when it was refused. */
export const valueOf = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.remedy}`);
  return parsed.value;
};

/** Selects by the discovery tag, as most manifests do. */
export const discoveryTerms = [{ tags: { 'karpenter.sh/discovery': 'c' } }];

/** An EC2NodeClass that says only what it must, and more. */
export const ec2 = (spec: Part = {}, status: Part = {}): object => ({
  metadata,
  status,
  spec: {
    role: 'node',
    subnetSelectorTerms: discoveryTerms,
    securityGroupSelectorTerms: discoveryTerms,
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    ...spec,
  },
});

/** The reference that every NodePool of these tests makes. */
export const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** A NodePool with these parts of its node template, spec, template and metadata. */
export const pool = (
  node: Part = {},
  spec: Part = {},
  template: Part = {},
  meta: Part = {},
): object => ({
  metadata: { ...metadata, ...meta },
  spec: { template: { ...template, spec: { nodeClassRef, requirements: [], ...node } }, ...spec },
});
