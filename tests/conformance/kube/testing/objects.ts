import type { KubeObject, KubeResource } from '@dovetail/core-ports';
import type { BootedInstance } from '@dovetail/sim-kube';

/** Resources that the conformance tests need and the services do not touch. */
export const extra = {
  deployments: {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    namespaced: true,
  },
  jobs: { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true },
  cronJobs: {
    group: 'batch',
    version: 'v1',
    kind: 'CronJob',
    plural: 'cronjobs',
    namespaced: true,
  },
  autoscalers: {
    group: 'autoscaling',
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
  },
  statefulSets: {
    group: 'apps',
    version: 'v1',
    kind: 'StatefulSet',
    plural: 'statefulsets',
    namespaced: true,
  },
  configMaps: {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
  },
  quotas: {
    group: '',
    version: 'v1',
    kind: 'ResourceQuota',
    plural: 'resourcequotas',
    namespaced: true,
  },
} as const satisfies Record<string, KubeResource>;

export const instance = (
  nodeName: string,
  settings: Partial<BootedInstance> = {},
): BootedInstance => ({
  nodeName,
  providerId: `aws:///zone-a/${nodeName}`,
  labels: { 'topology.kubernetes.io/zone': 'zone-a' },
  taints: [],
  arch: 'amd64',
  kubeletVersion: 'v1.34.0',
  capacity: { cpu: '4', memory: '16Gi', pods: '58' },
  allocatable: { cpu: '4', memory: '15Gi', pods: '58' },
  internalIp: '10.0.0.1',
  ...settings,
});

type Spec = Readonly<Record<string, unknown>>;
const container = { name: 'main', image: 'pause:3.9', resources: { requests: { cpu: '100m' } } };

export const pod = (
  namespace: string,
  name: string,
  spec: Spec = {},
  metadata: Spec = {},
): KubeObject => ({
  metadata: { name, namespace, ...metadata },
  spec: { terminationGracePeriodSeconds: 0, containers: [container], ...spec },
});

export const template = (spec: Spec = {}): object => ({
  metadata: { labels: { app: 'a' } },
  spec: { terminationGracePeriodSeconds: 0, containers: [container], ...spec },
});

export const deployment = (
  namespace: string,
  name: string,
  replicas: number,
  spec: Spec = {},
): KubeObject => ({
  metadata: { name, namespace },
  spec: { replicas, selector: { matchLabels: { app: 'a' } }, template: template(spec) },
});

export const statefulSet = (
  namespace: string,
  name: string,
  replicas: number,
  spec: Spec = {},
): KubeObject => ({
  metadata: { name, namespace },
  spec: {
    replicas,
    serviceName: name,
    selector: { matchLabels: { app: 'a' } },
    template: template(),
    ...spec,
  },
});
