export const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

export type Service = (typeof services)[number];

/**
 * The rights that each service needs, and those that it must not have: verb, resource, and
 * subresource or namespace if it matters.
 */
export const reads = [
  'get pods',
  'list nodes',
  'watch nodepools.karpenter.sh',
  'list ec2nodeclasses.karpenter.k8s.aws',
  'watch persistentvolumeclaims',
  'watch replicasets.apps',
  'list poddisruptionbudgets.policy',
  'watch csinodes.storage.k8s.io',
  'watch volumeattachments.storage.k8s.io',
  'get services',
];

export const writes = [
  'create pods',
  'delete pods',
  'patch pods',
  'create pods/binding',
  'create pods/eviction',
  'patch nodes',
  'delete nodes',
  'create nodes',
  'create nodeclaims.karpenter.sh',
  'patch nodeclaims.karpenter.sh',
  'patch nodeclaims.karpenter.sh/status',
  'delete nodeclaims.karpenter.sh',
  'patch nodepools.karpenter.sh',
  'patch nodepools.karpenter.sh/status',
  'patch ec2nodeclasses.karpenter.k8s.aws/status',
  'delete nodepools.karpenter.sh',
  'delete ec2nodeclasses.karpenter.k8s.aws',
  'list disruptions.dovetail.sh',
  'watch disruptions.dovetail.sh',
  'create disruptions.dovetail.sh',
  'patch disruptions.dovetail.sh',
  'patch disruptions.dovetail.sh/status',
  'delete disruptions.dovetail.sh',
  'create events',
  'update nodes',
  'update nodeclaims.karpenter.sh',
  'patch provisioners.karpenter.sh',
  'patch awsnodetemplates.karpenter.k8s.aws',
  'create serviceaccounts',
  'create clusterrolebindings.rbac.authorization.k8s.io',
] as const;

export const sensitive = [
  'get secrets',
  'list secrets',
  'get configmaps',
  'create pods/exec',
  'create deployments.apps',
  'impersonate users',
];

export const needed: Readonly<Record<Service, readonly string[]>> = {
  'pod-watcher': [
    'list nodes',
    'watch nodepools.karpenter.sh',
    'list ec2nodeclasses.karpenter.k8s.aws',
    'watch persistentvolumeclaims',
    'watch replicasets.apps',
    'list poddisruptionbudgets.policy',
    'watch csinodes.storage.k8s.io',
  ],
  solver: [],
  launcher: [
    'list nodes',
    'watch nodepools.karpenter.sh',
    'list ec2nodeclasses.karpenter.k8s.aws',
    'watch persistentvolumeclaims',
    'watch csinodes.storage.k8s.io',
    'create pods/binding',
    'patch nodes',
    'create nodeclaims.karpenter.sh',
    'patch nodeclaims.karpenter.sh',
    'patch nodeclaims.karpenter.sh/status',
    'delete nodeclaims.karpenter.sh',
    'patch nodepools.karpenter.sh',
    'patch nodepools.karpenter.sh/status',
    'patch ec2nodeclasses.karpenter.k8s.aws/status',
    'create events',
  ],
  reaper: [
    'list nodes',
    'watch nodepools.karpenter.sh',
    'list poddisruptionbudgets.policy',
    'watch volumeattachments.storage.k8s.io',
    'delete pods',
    'create pods/eviction',
    'patch nodes',
    'delete nodes',
    'patch nodeclaims.karpenter.sh',
    'patch nodeclaims.karpenter.sh/status',
    'delete nodeclaims.karpenter.sh',
    'list disruptions.dovetail.sh',
    'watch disruptions.dovetail.sh',
    'create disruptions.dovetail.sh',
    'patch disruptions.dovetail.sh/status',
    'delete disruptions.dovetail.sh',
    'create events',
  ],
};
