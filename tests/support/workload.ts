/** Manifests that tests of the whole system share. */

/** Deployments, which the services themselves never touch. */
export const deployments = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
} as const;

/** A NodePool and its class; `instanceTypes` narrows it to the named types. */
export const poolManifest = (options: {
  readonly clusterName: string;
  readonly instanceTypes?: readonly string[];
  readonly vcpusMax?: number;
  /** On-demand if absent. */
  readonly capacityTypes?: readonly string[];
  readonly consolidateAfter?: string;
  /** WhenEmpty if absent. */
  readonly consolidationPolicy?: string;
  /** All nodes at once if absent. */
  readonly budgets?: string;
}): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: default }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
      requirements:
        - { key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r] }
        - { key: kubernetes.io/arch, operator: In, values: [amd64] }
        - { key: karpenter.sh/capacity-type, operator: In, values: [${(options.capacityTypes ?? ['on-demand']).join(', ')}] }
${options.vcpusMax === undefined ? '' : `        - { key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["${options.vcpusMax + 1}"] }\n`}${
  options.instanceTypes === undefined
    ? ''
    : `        - { key: node.kubernetes.io/instance-type, operator: In, values: [${options.instanceTypes.join(', ')}] }\n`
}
  disruption: { consolidationPolicy: ${options.consolidationPolicy ?? 'WhenEmpty'}, consolidateAfter: ${options.consolidateAfter ?? '10s'}, budgets: ${options.budgets ?? '[{ nodes: "100%" }]'} }
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: default }
spec:
  role: KarpenterNodeRole-${options.clusterName}
  amiSelectorTerms: [{ alias: al2023@latest }]
  subnetSelectorTerms: [{ tags: { karpenter.sh/discovery: ${options.clusterName} } }]
  securityGroupSelectorTerms: [{ tags: { karpenter.sh/discovery: ${options.clusterName} } }]
`;

export const deploymentManifest = (options: {
  readonly name: string;
  readonly replicas: number;
  readonly cpu: string;
  readonly memory: string;
}): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${options.name}, namespace: default }
spec:
  replicas: ${options.replicas}
  selector: { matchLabels: { app: ${options.name} } }
  template:
    metadata: { labels: { app: ${options.name} } }
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: app
          image: public.ecr.aws/eks-distro/kubernetes/pause:3.9
          resources: { requests: { cpu: ${options.cpu}, memory: ${options.memory} } }
`;
