/** Names in Karpenter's API that people's manifests and dashboards rely on (karpenter.sh v1), and Dovetail's own. */
export const labels = {
  nodePool: 'karpenter.sh/nodepool',
  provisioner: 'karpenter.sh/provisioner-name',
  initialized: 'karpenter.sh/initialized',
  registered: 'karpenter.sh/registered',
  capacityType: 'karpenter.sh/capacity-type',
  doNotSyncTaints: 'karpenter.sh/do-not-sync-taints',
  zone: 'topology.kubernetes.io/zone',
  zoneId: 'topology.k8s.aws/zone-id',
  region: 'topology.kubernetes.io/region',
  instanceType: 'node.kubernetes.io/instance-type',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  hostname: 'kubernetes.io/hostname',
  windowsBuild: 'node.kubernetes.io/windows-build',
  excludeFromLoadBalancers: 'node.kubernetes.io/exclude-from-external-load-balancers',
} as const;

export const annotations = {
  doNotDisrupt: 'karpenter.sh/do-not-disrupt',
  nodePoolHash: 'karpenter.sh/nodepool-hash',
  nodePoolHashVersion: 'karpenter.sh/nodepool-hash-version',
  nodeClassHash: 'karpenter.k8s.aws/ec2nodeclass-hash',
  nodeClassHashVersion: 'karpenter.k8s.aws/ec2nodeclass-hash-version',
  terminationTimestamp: 'karpenter.sh/nodeclaim-termination-timestamp',
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  /** On a NodeClaim or Node: which pods it is promised to, JSON (see docs/contracts.md). */
  promise: 'dovetail.sh/promise',
  /** On a NodeClaim: `epoch.number/planId/bin`, the admission that made it. */
  admission: 'dovetail.sh/admission',
  /** On a NodeClaim: when it was planned, RFC 3339. Its age counts from here: services compare times of their own clock, not the API server's. */
  planned: 'dovetail.sh/planned',
  /** On a NodeClaim: the launch intent shared with its siblings, JSON. */
  launchIntent: 'dovetail.sh/launch-intent',
  /** On a NodeClaim: the instance it was paired with, before status says so. */
  instanceId: 'dovetail.sh/instance-id',
  /** On a Node: the cordon is ours and ends when the bin's pods are bound. */
  placementCordon: 'dovetail.sh/placement-cordon',
  /** On a NodeClaim: what its instance cost an hour when it was launched, US dollars; ~ in front: estimated. */
  pricePerHour: 'dovetail.sh/price-per-hour',
  maxPricePerHour: 'dovetail.sh/max-price-per-hour',
  maxLaunchesPerMinute: 'dovetail.sh/max-launches-per-minute',
  /** On a Node, written by the reaper: the cause it is being retired for. */
  retirement: 'dovetail.sh/retirement',
} as const;

export const taints = {
  disrupted: { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  unregistered: { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
} as const;

/** On NodeClaims and Nodes: nothing disappears before its instance is gone. */
export const terminationFinalizer = 'karpenter.sh/termination';

/** Tags on what EC2 holds for us. */
export const tags = {
  cluster: (clusterName: string): string => `kubernetes.io/cluster/${clusterName}`,
  clusterName: 'eks:eks-cluster-name',
  nodePool: 'karpenter.sh/nodepool',
  provisioner: 'karpenter.sh/provisioner-name',
  nodeClaim: 'karpenter.sh/nodeclaim',
  nodeClass: 'karpenter.k8s.aws/ec2nodeclass',
  /** The launch intent's id: how instances are found again after a crash. */
  launchIntent: 'dovetail.sh/launch-intent',
  /** UID of the kube-system namespace: no other cluster of the same name may be mistaken for this one. */
  clusterUid: 'dovetail.sh/cluster-uid',
} as const;
