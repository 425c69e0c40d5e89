import type { KubeObject } from '@dovetail/core-ports';

import { clusterName } from './stage.js';

type Labels = Readonly<Record<string, string>>;

/** A NodePool that launches on-demand nodes of the c, m and r families, generation 5 or newer. */
export const nodePoolObject = (
  name = 'general',
  change: { readonly spec?: object; readonly node?: object; readonly disruption?: object } = {},
): KubeObject => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        expireAfter: '336h',
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
          { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
        ],
        ...change.node,
      },
    },
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '0s',
      budgets: [{ nodes: '10%' }],
      ...change.disruption,
    },
    ...change.spec,
  },
});

/**
 * An EC2NodeClass that boots Amazon Linux 2023 in the subnets and groups that the cloud twin tags
 * for discovery.
 */
export const nodeClassObject = (name = 'default', spec: object = {}): KubeObject => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name },
  spec: {
    role: `KarpenterNodeRole-${clusterName}`,
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': clusterName } }],
    securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': clusterName } }],
    ...spec,
  },
});

/** The properties of a test pod that differ from the defaults. */
export type PodChange = {
  /** Requested CPU; default 1. */
  readonly cpu?: string;
  /** Requested memory; default 1Gi. */
  readonly memory?: string;
  readonly labels?: Labels;
  readonly metadata?: object;
  readonly spec?: object;
};

const podSpec = (change: PodChange): object => ({
  containers: [
    {
      name: 'main',
      image: 'pause:3.9',
      resources: { requests: { cpu: change.cpu ?? '1', memory: change.memory ?? '1Gi' } },
    },
  ],
  ...change.spec,
});

/** A pod of one container in the namespace `default`. */
export const podObject = (name: string, change: PodChange = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    labels: change.labels ?? { app: 'inflate' },
    ...change.metadata,
  },
  spec: podSpec(change),
});

/** A ReplicaSet whose pods carry the label `app`. */
export const replicaSetObject = (
  app: string,
  replicas: number,
  pod: PodChange = {},
): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: app, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app, ...pod.labels }, ...pod.metadata }, spec: podSpec(pod) },
  },
});

/**
 * A Deployment whose pods carry the label `app`. It rolls out one pod at a time, and never has
 * fewer than it should.
 */
export const deploymentObject = (
  app: string,
  replicas: number,
  pod: PodChange = {},
): KubeObject => {
  const { spec } = replicaSetObject(app, replicas, pod) as { readonly spec?: object };
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app, namespace: 'default' },
    spec: { ...spec, strategy: { type: 'RollingUpdate', rollingUpdate } },
  };
};

/** A PodDisruptionBudget over the pods of an app. */
export const budgetObject = (app: string, minAvailable: number): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: `${app}-pdb`, namespace: 'default' },
  spec: { minAvailable, selector: { matchLabels: { app } } },
});
