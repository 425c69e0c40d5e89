import type { KubeObject } from '@dovetail/core-ports';

const container = (cpu: string, memory: string): object => ({ name: 'app', image: 'public.ecr.aws/eks-distro/kubernetes/pause:3.9', resources: { requests: { cpu, memory } } });

/** A pod that leaves no room for another of its kind on a node of at most 16 vCPU. */
export const wholeNodePod = (name: string): KubeObject => ({
  metadata: { name, namespace: 'default' }, spec: { terminationGracePeriodSeconds: 0, containers: [container('9', '1Gi')] },
});

export const deployment = (name: string, replicas: number): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: {
    replicas, selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 0, containers: [container('700m', '1Gi')] } },
  },
});

/** A pool of general types up to 16 vCPU, on-demand, whose empty nodes go after ten seconds. */
export const pool = (clusterName: string): string => `
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
        - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
        - { key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"] }
  disruption: { consolidationPolicy: WhenEmpty, consolidateAfter: 10s, budgets: [{ nodes: "100%" }] }
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: default }
spec:
  role: KarpenterNodeRole-${clusterName}
  amiSelectorTerms: [{ alias: al2023@latest }]
  subnetSelectorTerms: [{ tags: { karpenter.sh/discovery: ${clusterName} } }]
  securityGroupSelectorTerms: [{ tags: { karpenter.sh/discovery: ${clusterName} } }]
`;
