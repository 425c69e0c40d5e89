/** Subresources that a built-in kind has besides the object itself. */
export type Subresource = 'status' | 'scale' | 'eviction' | 'binding';

/** One built-in resource that the twin serves. */
export type ServedResource = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  readonly subresources: readonly Subresource[];
  /** Whether metadata.generation counts changes of the spec. */
  readonly generation: boolean;
  /** Fields that a field selector may name, besides metadata.name and metadata.namespace. */
  readonly fields: readonly string[];
  /** `all` is the category behind `kubectl get all`. */
  readonly categories: readonly string[];
  /** Another version or group under which the same objects are stored. */
  readonly storedAs?: string;
};

type Settings = Partial<
  Pick<
    ServedResource,
    'version' | 'shortNames' | 'subresources' | 'generation' | 'fields' | 'categories' | 'storedAs'
  >
>;

function row(
  group: string,
  kind: string,
  plural: string,
  scope: 'namespaced' | 'cluster',
  settings: Settings = {},
): ServedResource {
  const {
    shortNames = [],
    subresources = [],
    generation = false,
    fields = [],
    categories = [],
    storedAs,
    version = 'v1',
  } = settings;
  const base = {
    group,
    version,
    kind,
    plural,
    namespaced: scope === 'namespaced',
    shortNames,
    subresources,
    generation,
    fields,
    categories,
  };
  return storedAs === undefined ? base : { ...base, storedAs };
}

const all = ['all'];
const eventFields = [
  'involvedObject.kind',
  'involvedObject.namespace',
  'involvedObject.name',
  'involvedObject.uid',
  'involvedObject.apiVersion',
  'involvedObject.resourceVersion',
  'involvedObject.fieldPath',
  'reason',
  'reportingComponent',
  'source',
  'type',
];

/**
 * Every built-in resource that the twin serves. Custom resources are added when their definitions
 * are applied.
 */
export const servedResources: readonly ServedResource[] = [
  row('', 'Pod', 'pods', 'namespaced', {
    shortNames: ['po'],
    subresources: ['status', 'eviction', 'binding'],
    generation: true,
    categories: all,
    fields: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  }),
  row('', 'Node', 'nodes', 'cluster', {
    shortNames: ['no'],
    subresources: ['status'],
    fields: ['spec.unschedulable'],
  }),
  row('', 'Namespace', 'namespaces', 'cluster', {
    shortNames: ['ns'],
    subresources: ['status'],
    fields: ['status.phase'],
  }),
  row('', 'Event', 'events', 'namespaced', { shortNames: ['ev'], fields: eventFields }),
  row('', 'Service', 'services', 'namespaced', {
    shortNames: ['svc'],
    subresources: ['status'],
    categories: all,
    fields: ['spec.clusterIP', 'spec.type'],
  }),
  row('', 'ConfigMap', 'configmaps', 'namespaced', { shortNames: ['cm'] }),
  row('', 'Secret', 'secrets', 'namespaced', { fields: ['type'] }),
  row('', 'ServiceAccount', 'serviceaccounts', 'namespaced', { shortNames: ['sa'] }),
  row('', 'PersistentVolume', 'persistentvolumes', 'cluster', {
    shortNames: ['pv'],
    subresources: ['status'],
  }),
  row('', 'PersistentVolumeClaim', 'persistentvolumeclaims', 'namespaced', {
    shortNames: ['pvc'],
    subresources: ['status'],
  }),
  row('', 'ResourceQuota', 'resourcequotas', 'namespaced', {
    shortNames: ['quota'],
    subresources: ['status'],
  }),
  row('', 'LimitRange', 'limitranges', 'namespaced', { shortNames: ['limits'] }),
  row('apps', 'Deployment', 'deployments', 'namespaced', {
    shortNames: ['deploy'],
    subresources: ['status', 'scale'],
    generation: true,
    categories: all,
  }),
  row('apps', 'ReplicaSet', 'replicasets', 'namespaced', {
    shortNames: ['rs'],
    subresources: ['status', 'scale'],
    generation: true,
    categories: all,
    fields: ['status.replicas'],
  }),
  row('apps', 'StatefulSet', 'statefulsets', 'namespaced', {
    shortNames: ['sts'],
    subresources: ['status', 'scale'],
    generation: true,
    categories: all,
  }),
  row('apps', 'DaemonSet', 'daemonsets', 'namespaced', {
    shortNames: ['ds'],
    subresources: ['status'],
    generation: true,
    categories: all,
  }),
  row('apps', 'ControllerRevision', 'controllerrevisions', 'namespaced'),
  row('batch', 'Job', 'jobs', 'namespaced', {
    subresources: ['status'],
    generation: true,
    categories: all,
    fields: ['status.successful'],
  }),
  row('batch', 'CronJob', 'cronjobs', 'namespaced', {
    shortNames: ['cj'],
    subresources: ['status'],
    generation: true,
    categories: all,
  }),
  row('autoscaling', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'namespaced', {
    version: 'v2',
    shortNames: ['hpa'],
    subresources: ['status'],
    categories: all,
  }),
  row('autoscaling', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'namespaced', {
    shortNames: ['hpa'],
    subresources: ['status'],
    categories: all,
  }),
  row('policy', 'PodDisruptionBudget', 'poddisruptionbudgets', 'namespaced', {
    shortNames: ['pdb'],
    subresources: ['status'],
    generation: true,
  }),
  row('networking.k8s.io', 'Ingress', 'ingresses', 'namespaced', {
    shortNames: ['ing'],
    subresources: ['status'],
    generation: true,
  }),
  row('coordination.k8s.io', 'Lease', 'leases', 'namespaced'),
  row('events.k8s.io', 'Event', 'events', 'namespaced', {
    shortNames: ['ev'],
    storedAs: 'events',
    fields: [
      'regarding.kind',
      'regarding.namespace',
      'regarding.name',
      'regarding.uid',
      'reason',
      'reportingController',
      'type',
    ],
  }),
  row('scheduling.k8s.io', 'PriorityClass', 'priorityclasses', 'cluster', { shortNames: ['pc'] }),
  row('storage.k8s.io', 'StorageClass', 'storageclasses', 'cluster', { shortNames: ['sc'] }),
  row('storage.k8s.io', 'CSINode', 'csinodes', 'cluster'),
  row('storage.k8s.io', 'CSIDriver', 'csidrivers', 'cluster'),
  row('storage.k8s.io', 'VolumeAttachment', 'volumeattachments', 'cluster', {
    subresources: ['status'],
  }),
  row('rbac.authorization.k8s.io', 'Role', 'roles', 'namespaced'),
  row('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings', 'namespaced'),
  row('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', 'cluster'),
  row('rbac.authorization.k8s.io', 'ClusterRoleBinding', 'clusterrolebindings', 'cluster'),
  row('apiextensions.k8s.io', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster', {
    shortNames: ['crd', 'crds'],
    subresources: ['status'],
    generation: true,
    categories: ['api-extensions'],
  }),
];

/** The namespaces that every cluster begins with. */
export const initialNamespaces: readonly string[] = [
  'default',
  'kube-node-lease',
  'kube-public',
  'kube-system',
];

/** The Kubernetes version that the twin reports. */
export const servedVersion = {
  major: '1',
  minor: '34',
  gitVersion: 'v1.34.3+dovetail-twin',
} as const;
