/**
 * Labels of Karpenter's API (karpenter.sh/v1) and of Kubernetes that manifests and dashboards rely
 * on.
 */
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

/** Annotations that Dovetail reads or writes: Karpenter's and its own. */
export const annotations = {
  doNotDisrupt: 'karpenter.sh/do-not-disrupt',
  /** On a Node or NodeClaim: `true` keeps the node although it is unhealthy (Karpenter 1.15). */
  doNotRepair: 'karpenter.sh/do-not-repair',
  nodePoolHash: 'karpenter.sh/nodepool-hash',
  nodePoolHashVersion: 'karpenter.sh/nodepool-hash-version',
  nodeClassHash: 'karpenter.k8s.aws/ec2nodeclass-hash',
  nodeClassHashVersion: 'karpenter.k8s.aws/ec2nodeclass-hash-version',
  /**
   * On a NodeClaim: the instance profile of its node. Karpenter deletes the profiles that it finds
   * on no claim and in the status of no class.
   */
  instanceProfile: 'karpenter.k8s.aws/instance-profile-name',
  terminationTimestamp: 'karpenter.sh/nodeclaim-termination-timestamp',
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  /**
   * On a NodeClaim or Node: the pods that its room is promised to, as JSON (see docs/contracts.md).
   */
  promise: 'dovetail.sh/promise',
  /** On a NodeClaim: `epoch.number/planId/bin`, the admission that made it. */
  admission: 'dovetail.sh/admission',
  /**
   * On a NodeClaim: when the bus took its plan, RFC 3339. Its age counts from here, by the clock of
   * the launcher.
   */
  planned: 'dovetail.sh/planned',
  /** On a NodeClaim: the launch intent that it shares with its siblings, as JSON. */
  launchIntent: 'dovetail.sh/launch-intent',
  /** On a NodeClaim: the instance that it was paired with, before its status names it. */
  instanceId: 'dovetail.sh/instance-id',
  /** On a Node: the launcher cordoned it, until the bin's pods are bound. */
  placementCordon: 'dovetail.sh/placement-cordon',
  /**
   * On a Node: it did not become usable in time, RFC 3339. It counts as it is until it is
   * initialized, and no longer as it was planned to be.
   */
  overdue: 'dovetail.sh/overdue',
  /**
   * On a NodeClaim: since when its type, or its place in it, is missing in the catalog, RFC 3339.
   */
  typeMissing: 'dovetail.sh/type-missing',
  /**
   * On a NodeClaim: the hourly price of its instance at launch, in US dollars; `~` means estimated.
   */
  pricePerHour: 'dovetail.sh/price-per-hour',
  /**
   * On a pool: the most that one node may cost an hour, in US dollars. On a NodeClaim that a
   * command buys: the same for this node, at each attempt to launch it.
   */
  maxPricePerHour: 'dovetail.sh/max-price-per-hour',
  /**
   * On a NodeClaim: its admission's place in a trace, as W3C `traceparent`. Absent: it is in none.
   */
  traceparent: 'dovetail.sh/traceparent',
  /** On a pool: the most nodes that may be launched in a minute. */
  maxLaunchesPerMinute: 'dovetail.sh/max-launches-per-minute',
  /** On a Node, written by the reaper: the retirement in progress, as JSON. */
  retirement: 'dovetail.sh/retirement',
} as const;

/** Taints of Karpenter's API: the node is being retired, has not registered yet, or is rebooted. */
export const taints = {
  disrupted: { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  unregistered: { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  rebooting: { key: 'karpenter.sh/rebooting', effect: 'NoSchedule' },
} as const;

/** The finalizer on NodeClaims and Nodes: neither disappears before its instance is gone. */
export const terminationFinalizer = 'karpenter.sh/termination';

/** Tags on the EC2 objects that Dovetail makes. */
export const tags = {
  cluster: (clusterName: string): string => `kubernetes.io/cluster/${clusterName}`,
  clusterName: 'eks:eks-cluster-name',
  nodePool: 'karpenter.sh/nodepool',
  provisioner: 'karpenter.sh/provisioner-name',
  nodeClaim: 'karpenter.sh/nodeclaim',
  nodeClass: 'karpenter.k8s.aws/ec2nodeclass',
  /** The id of the launch intent, by which instances are found again after a crash. */
  launchIntent: 'dovetail.sh/launch-intent',
  /** The UID of the kube-system namespace, which tells clusters of one name apart. */
  clusterUid: 'dovetail.sh/cluster-uid',
  /** The trace in which an instance was launched, if the launcher traces. */
  traceId: 'dovetail.sh/trace-id',
} as const;
