// Apart from the readers, so that --help loads only this.

/** The kinds that a simulation reads, each in the version of its API that they are read in. */
export const readVersions: ReadonlyMap<string, string> = new Map([
  ['Pod', 'v1'],
  ['Deployment', 'apps/v1'],
  ['ReplicaSet', 'apps/v1'],
  ['StatefulSet', 'apps/v1'],
  ['ReplicationController', 'v1'],
  ['Job', 'batch/v1'],
  ['CronJob', 'batch/v1'],
  ['HorizontalPodAutoscaler', 'autoscaling/v2'],
  ['DaemonSet', 'apps/v1'],
  ['Node', 'v1'],
  ['Namespace', 'v1'],
  ['NodePool', 'karpenter.sh/v1'],
  ['NodeClaim', 'karpenter.sh/v1'],
  ['Provisioner', 'karpenter.sh/v1alpha5'],
  ['EC2NodeClass', 'karpenter.k8s.aws/v1'],
  ['AWSNodeTemplate', 'karpenter.k8s.aws/v1alpha1'],
  ['PersistentVolume', 'v1'],
  ['PersistentVolumeClaim', 'v1'],
  ['StorageClass', 'storage.k8s.io/v1'],
  ['CSINode', 'storage.k8s.io/v1'],
  ['PodDisruptionBudget', 'policy/v1'],
  ['PriorityClass', 'scheduling.k8s.io/v1'],
  ['RuntimeClass', 'node.k8s.io/v1'],
  ['LimitRange', 'v1'],
]);

/** Older versions that are read as well. They went from Kubernetes, and manifests live longer. */
export const olderVersions: ReadonlyMap<string, readonly string[]> = new Map([
  ['PodDisruptionBudget', ['policy/v1beta1']],
  ['HorizontalPodAutoscaler', ['autoscaling/v1', 'autoscaling/v2beta1', 'autoscaling/v2beta2']],
]);

/** Those of the kinds whose objects live in a namespace. */
export const namespaced = new Set([
  'Pod',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'Job',
  'CronJob',
  'HorizontalPodAutoscaler',
  'DaemonSet',
  'PersistentVolumeClaim',
  'PodDisruptionBudget',
  'LimitRange',
]);
