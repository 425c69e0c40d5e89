import type { KubeResource } from './kube.js';

const of = (
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced = true,
): KubeResource => ({ group, version, kind, plural, namespaced });

/** Every Kubernetes resource that Dovetail reads or writes. */
export const kubeResources = {
  pods: of('', 'v1', 'Pod', 'pods'),
  nodes: of('', 'v1', 'Node', 'nodes', false),
  namespaces: of('', 'v1', 'Namespace', 'namespaces', false),
  events: of('', 'v1', 'Event', 'events'),
  services: of('', 'v1', 'Service', 'services'),
  limitRanges: of('', 'v1', 'LimitRange', 'limitranges'),
  runtimeClasses: of('node.k8s.io', 'v1', 'RuntimeClass', 'runtimeclasses', false),
  persistentVolumes: of('', 'v1', 'PersistentVolume', 'persistentvolumes', false),
  persistentVolumeClaims: of('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  storageClasses: of('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', false),
  csiNodes: of('storage.k8s.io', 'v1', 'CSINode', 'csinodes', false),
  volumeAttachments: of('storage.k8s.io', 'v1', 'VolumeAttachment', 'volumeattachments', false),
  daemonSets: of('apps', 'v1', 'DaemonSet', 'daemonsets'),
  replicaSets: of('apps', 'v1', 'ReplicaSet', 'replicasets'),
  podDisruptionBudgets: of('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  leases: of('coordination.k8s.io', 'v1', 'Lease', 'leases'),
  nodePools: of('karpenter.sh', 'v1', 'NodePool', 'nodepools', false),
  nodeClaims: of('karpenter.sh', 'v1', 'NodeClaim', 'nodeclaims', false),
  ec2NodeClasses: of('karpenter.k8s.aws', 'v1', 'EC2NodeClass', 'ec2nodeclasses', false),
  disruptions: of('dovetail.sh', 'v1alpha1', 'Disruption', 'disruptions', false),
  provisioners: of('karpenter.sh', 'v1alpha5', 'Provisioner', 'provisioners', false),
  awsNodeTemplates: of(
    'karpenter.k8s.aws',
    'v1alpha1',
    'AWSNodeTemplate',
    'awsnodetemplates',
    false,
  ),
} as const;
