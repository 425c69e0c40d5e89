/** A manifest and whether the API accepts it. The refusal must name the words in `refused`. */
export type CrdCase = { readonly name: string; readonly object: object; readonly refused?: RegExp };

/** An existing object, and the change that is then written over it. */
export type CrdUpdate = {
  readonly name: string;
  readonly before: object;
  readonly after: object;
  readonly refused?: RegExp;
};

type Part = Readonly<Record<string, unknown>>;

/** The reference from a pool or claim to its class. */
export const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** A part with one requirement. */
export const requirement = (
  key: string,
  operator: string,
  values?: readonly string[],
  minValues?: number,
): Part => ({
  requirements: [
    {
      key,
      operator,
      ...(values === undefined ? {} : { values }),
      ...(minValues === undefined ? {} : { minValues }),
    },
  ],
});

/** A NodePool, valid but for what the parts change in its template, spec or metadata. */
export const pool = (node: Part = {}, spec: Part = {}, metadata: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'case' },
  spec: {
    template: { metadata, spec: { nodeClassRef: classRef, requirements: [], ...node } },
    ...spec,
  },
});

/** A NodeClaim, valid but for what the part changes. */
export const claim = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'case' },
  spec: { nodeClassRef: classRef, requirements: [], ...spec },
});

/** Selector terms by tag. */
export const tags = [{ tags: { 'karpenter.sh/discovery': 'c' } }];

/** An EC2NodeClass, valid but for what the part changes. */
export const nodeClass = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'case' },
  spec: {
    role: 'node',
    subnetSelectorTerms: tags,
    securityGroupSelectorTerms: tags,
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    ...spec,
  },
});

/** A Provisioner, valid but for what the part changes. */
export const provisioner = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.sh/v1alpha5',
  kind: 'Provisioner',
  metadata: { name: 'case' },
  spec: { providerRef: { name: 'default' }, ...spec },
});

/** An AWSNodeTemplate, valid but for what the part changes. */
export const template = (spec: Part = {}): object => ({
  apiVersion: 'karpenter.k8s.aws/v1alpha1',
  kind: 'AWSNodeTemplate',
  metadata: { name: 'case' },
  spec: { subnetSelector: { a: '*' }, securityGroupSelector: { a: '*' }, ...spec },
});

/** A part with one disruption budget. */
export const budgets = (budget: Part): Part => ({ disruption: { budgets: [budget] } });

/** An EC2NodeClass with these block devices. */
export const devices = (...blockDeviceMappings: readonly Part[]): object =>
  nodeClass({ blockDeviceMappings });

/** An EC2NodeClass with these AMI selector terms. */
export const amis = (...amiSelectorTerms: readonly Part[]): object =>
  nodeClass({ amiFamily: 'AL2023', amiSelectorTerms });
