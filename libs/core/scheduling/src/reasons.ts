import { plainText } from '@dovetail/core-kube-model';

/**
 * The reason for a decision: a code for machines, the compared values, and a sentence rendered from
 * them.
 */
export type Reason = {
  readonly code: ReasonCode;
  readonly message: string;
  /** The compared values, e.g. { key, wanted, offered } or { resource, requested, largest }. */
  readonly values: Readonly<Record<string, string>>;
  /**
   * The pool (`NodePool/default`) or the group of existing nodes that the reason concerns. Absent
   * if it concerns the pod itself.
   */
  readonly subject?: string;
  /** The candidates (types or nodes) that this step excludes (`count`), of those before (`of`). */
  readonly fell?: { readonly count: number; readonly of: number };
  /** The smallest change that would have placed the pod, if one is known. */
  readonly remedy?: string;
};

/** Values for people, as `plainText`. */
export const plainValues = (
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plainText(value)]));

/**
 * A reason for people, as `plainText`: names of volumes and values of affinities are a tenant's
 * text, which may hold anything.
 */
export const plainReason = <T extends Pick<Reason, 'message' | 'values' | 'remedy'>>(
  reason: T,
): T => ({
  ...reason,
  message: plainText(reason.message),
  values: plainValues(reason.values),
  ...(reason.remedy === undefined ? {} : { remedy: plainText(reason.remedy) }),
});

/** The stable name of a reason, for decisions, verdicts and tools. */
export type ReasonCode =
  /** There is no NodePool and no Provisioner. */
  | 'no-pools'
  /** The pool or its class is not usable now. */
  | 'pool-not-ready'
  /** The node would pass the limits of its pool. */
  | 'pool-limit'
  /** The pool has `replicas`: no node is made for a pod. */
  | 'pool-static'
  /** The pool is being deleted. */
  | 'pool-deleting'
  /** The pod does not tolerate a taint of the pool or node. */
  | 'taint-not-tolerated'
  /** Node selector, node affinity and the pool have no value in common. */
  | 'requirement-mismatch'
  /** The pod asks for a label that no new node may promise. */
  | 'restricted-label'
  /** The pod has more terms that a node must meet than planning reads. */
  | 'too-many-terms'
  /** The pod selects nodes by a field that cannot be planned for. */
  | 'match-fields-unsupported'
  /** No type of the pool holds the pod beside its daemonsets. */
  | 'resources-too-large'
  /** EC2 had no capacity in any of the offerings lately. */
  | 'no-capacity'
  /** No type is sold in the zone and capacity type that are left. */
  | 'no-offering'
  /** The existing nodes have no room. */
  | 'node-full'
  /** The existing nodes are cordoned. */
  | 'node-cordoned'
  /** A spread constraint leaves no domain. */
  | 'topology-spread'
  /** No domain has a pod that the affinity asks for. */
  | 'pod-affinity'
  /** Each domain has a pod that the anti-affinity forbids. */
  | 'pod-anti-affinity'
  /** The port of the host is taken. */
  | 'host-port'
  /** A volume of the pod is bound to another place, or cannot be made. */
  | 'volume'
  /** The node can attach no further volume. */
  | 'volume-limit'
  /** Why this pool was taken and not another (a note). */
  | 'pool-chosen'
  /** Fewer types or zones are left than `minValues` asks for. */
  | 'min-values'
  /** The capacity reservation is full. */
  | 'reserved-capacity'
  /** The pod uses dynamic resource allocation, which is not supported. */
  | 'resource-claims'
  /** The pod has a scheduling gate. */
  | 'scheduling-gate'
  /** The node would cost more than its pool or its command allows. */
  | 'price-cap'
  /** The pod had a place, and other pods of the plan took it. */
  | 'displaced'
  /** Daemonsets take so much of some types that they are left out (a note). */
  | 'daemonset-overhead'
  /** The time for planning ended before the pod had a place. */
  | 'budget-ended'
  | AdmissionCode
  | DisruptionCode
  | LaunchCode
  /** The batch or its objects could not be read. */
  | 'unreadable';

/** Reasons why a node is retired or stays: the codes of `@dovetail/core-disruption`. */
export type DisruptionCode =
  /** No pod needs the node. */
  | 'empty'
  /** The price of all nodes was compared with that of a plan from nothing. */
  | 'gap-measured'
  /** The node is older than `expireAfter`. */
  | 'expired'
  /** EC2 announced the end of the instance. */
  | 'interrupted'
  /** An instance has no claim, or a claim no instance. */
  | 'garbage-collected'
  /** The pool was deleted. */
  | 'pool-gone'
  /** Someone deleted the node or its claim. */
  | 'deleted-by-user'
  /** The claim has no node. */
  | 'node-missing'
  /** The node is not ready yet. */
  | 'node-not-initialized'
  /** Several Nodes carry the provider ID of one claim, so it is not known which is its node. */
  | 'duplicate-nodes'
  /** The node is being rebooted. */
  | 'node-rebooting'
  /** The node is on its way out already. */
  | 'node-deleting'
  /** The node carries `karpenter.sh/do-not-disrupt`. */
  | 'node-protected'
  /** Room on the node is promised to pods that are to come. */
  | 'node-promised'
  /** A pod on the node carries `karpenter.sh/do-not-disrupt`. */
  | 'pod-protected'
  /** A PodDisruptionBudget allows no disruption of a pod. */
  | 'pod-without-budget'
  /** Several PodDisruptionBudgets select a pod, which cannot be evicted then. */
  | 'pod-of-many-budgets'
  /** Pods need the node. */
  | 'not-empty'
  /** The time of rest is not over yet. */
  | 'countdown'
  /** A setting, or `consolidateAfter: Never`, rules the disruption out. */
  | 'disruption-disabled'
  /** Consolidation is switched off for the whole cluster. */
  | 'consolidation-off'
  /** `expireAfter` is `Never`. */
  | 'never-expires'
  /** The node is not old enough. */
  | 'not-expired'
  /** The node is what its pool and class ask for. */
  | 'not-drifted'
  /** The disruption budget of the pool allows no further node now. */
  | 'budget-spent'
  /** A disruption budget of the pool cannot be read. */
  | 'budget-invalid'
  /** The time for the drain is over, and pods are deleted. */
  | 'drain-deadline'
  /** Pods of the node have no other room yet. */
  | 'replacement-missing'
  /** The launcher refused the replacement. */
  | 'replacement-refused'
  /** No solver answered. */
  | 'replacement-unanswered'
  /** Pool, class, image, groups or subnets are no longer those of the node. */
  | 'drifted'
  /** The node is again what its pool and class ask for. */
  | 'drift-ended'
  /** The pods of the node fit elsewhere for less. */
  | 'underutilized'
  /** Giving the node up would save too little. */
  | 'not-worthwhile'
  /** An earlier leader began something with the node in vain: it is left alone for a while. */
  | 'left-alone'
  /** Pods of the node were moved a moment ago. */
  | 'moved-recently'
  /** Pods of the node fit nowhere else. */
  | 'pods-without-place'
  /** The pods would need more new nodes than may be bought. */
  | 'needs-new-node'
  /** Not every node of a command could end, so that all stay. */
  | 'command-incomplete'
  /** Somebody has taken the taint of a retirement off the node. */
  | 'taint-removed'
  /** A notice of EC2 without an end, such as a rebalance recommendation. */
  | 'interruption-notice'
  /** A condition of the node was bad for too long. */
  | 'unhealthy'
  /** An annotation of the node says that it is not repaired. */
  | 'repair-vetoed'
  /** Too many nodes of the pool are unhealthy for a repair. */
  | 'repair-blocked'
  /** Too much would be collected in an hour: an operator has to look. */
  | 'collection-brake'
  /** Instances carry the name of this cluster and the UID of another. */
  | 'cluster-mismatch'
  /** The instance belongs to another claim. */
  | 'instance-of-another-claim'
  /** The instance belongs to another cluster. */
  | 'instance-of-another-cluster';

/**
 * Reasons why the launcher refused a bin of a plan, besides the codes that planning and admission
 * share.
 */
type AdmissionCode =
  /** The pod is gone. */
  | 'pod-gone'
  /** The pod runs already. */
  | 'pod-bound'
  /** The pod has a promise elsewhere. */
  | 'pod-promised'
  /** The node that the plan relies on is gone. */
  | 'node-gone'
  /** The node that the plan relies on is on its way out. */
  | 'node-retiring'
  /** The pool launched as many nodes in a minute as it may. */
  | 'launch-rate'
  /** A spread or affinity group changed after the plan was made. */
  | 'group-touched'
  /** The plan is of an earlier leader. */
  | 'older-epoch'
  /** The plan is older than a minute. */
  | 'plan-too-old'
  /** The round was broken off, and its claims are taken back. */
  | 'round-voided'
  /** The checker found a broken rule on the state as it is now. */
  | 'constraint-broken'
  /** A pod is not on the node that the plan replaces. */
  | 'not-on-replaced-node'
  /** The node has a replacement already. */
  | 'already-replaced'
  /** Not every node of a command could end, so that all stay. */
  | 'command-incomplete'
  /** Two nodes were bought for the pod and it runs on none. */
  | 'no-progress'
  /** Nodes of several types of the pool never became usable, so it buys none for a while. */
  | 'pool-held'
  /** The pod mounts volumes, and the objects that say where these may go are not all known yet. */
  | 'volumes-unknown'
  /** The API server did not take the claim or the promise. */
  | 'admission-failed';

/** Reasons why a claim went on, or did not, from its launch to its ready node. */
type LaunchCode =
  /** The node was not needed, or its pods have room elsewhere. */
  | 'existing-room'
  /** Another scheduler alone binds a pod of the node (a note). */
  | 'left-to-scheduler'
  /** Why EC2 Fleet took this offering. */
  | 'fleet-choice'
  /** The instance joined as a node. */
  | 'instance-joined'
  /** The node is ready for pods. */
  | 'node-initialized'
  /** No instance came in time. */
  | 'launch-timeout'
  /** The instance did not join in time. */
  | 'registration-timeout';
