import { limits } from '@dovetail/contracts';
import { defaultPlanOptions } from '@dovetail/core-scheduling';

/** The launcher's settings. All times are in milliseconds. */
export type LauncherConfig = {
  /** The cluster's name: on tags, in subjects, and what EKS knows it by. */
  readonly clusterName: string;
  /** AWS region. */
  readonly region: string;
  /** The API server's address, as nodes reach it. Absent: EKS is asked. */
  readonly clusterEndpoint?: string;
  /** Base64 of the API server's CA certificates. Absent: EKS is asked. */
  readonly clusterCa?: string;
  /**
   * Base64 of the CA certificates by which the launcher itself trusts the API server. Nodes get
   * them when neither `clusterCa` nor EKS names others.
   */
  readonly ownCa?: string;
  /** The addresses of Services, which nodes of AL2023 must know. Absent: EKS is asked. */
  readonly clusterServiceCidr?: string;
  /** Services of AWS that have no VPC endpoint are out of reach and are not asked. */
  readonly isolatedVpc: boolean;
  /** The instance profile of legacy classes that name neither role nor profile. */
  readonly defaultInstanceProfile?: string;
  /**
   * `bind`: the launcher binds the planned pods before their node opens. `scheduler`:
   * kube-scheduler chooses where pods go, and the launcher does not need the right to bind.
   */
  readonly placement: 'bind' | 'scheduler';
  /** Whether the reaper gives up under-used nodes. If not, pools that ask for it say so. */
  readonly consolidates: boolean;
  /**
   * Invariant: equal to the solvers' PlanOptions, as the checker must judge by the planner's rules.
   */
  readonly hostnameSpread: 'balanced' | 'strict';
  /** As `hostnameSpread`; Karpenter's MIN_VALUES_POLICY. */
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly admission: AdmissionConfig;
  readonly launch: LaunchConfig;
  readonly lifecycle: LifecycleConfig;
  readonly discovery: DiscoveryConfig;
};

/** How plans are judged and what is promised. */
export type AdmissionConfig = {
  /** A plan older than this is refused. */
  readonly planAgeMaxMs: number;
  /** How long room on an initialised node is kept for pods that were promised it. */
  readonly promiseMs: number;
  /** How long room on an existing node is kept for the pods of a node that is being replaced. */
  readonly replacementPromiseMs: number;
  /** Claims written side by side. */
  readonly writesInParallel: number;
  /** The most plans that are judged in one round. */
  readonly plansPerRoundMax: number;
};

/** How claims become fleet requests, and how EC2 is paced. */
export type LaunchConfig = {
  /** The most equal claims that share one fleet request. */
  readonly membersMax: number;
  /**
   * The most instance types in one fleet request; with more, EC2 is slower and less predictable.
   */
  readonly typesMax: number;
  /** How long new claims are gathered before equal ones are put together. */
  readonly gatherMs: number;
  /**
   * An intent older than this is not sent again, as EC2 may have forgotten its ClientToken. Its
   * instances are looked up by tag.
   */
  readonly resendMaxMs: number;
  /** How long a fresh instance may be missing from EC2's answers. */
  readonly consistencyMs: number;
  /** Wait before the second attempt; doubles with each. */
  readonly attemptMs: number;
  /** The longest wait between attempts. */
  readonly attemptMaxMs: number;
  /** How long an offering without capacity is avoided at first. */
  readonly avoidMs: number;
  /** The longest time; each failure in a row doubles the wait up to it. */
  readonly avoidMaxMs: number;
  /** CreateFleet calls a second, for all claims together: EC2 throttles the account. */
  readonly callsPerSecond: number;
  /** Calls that may be made at once after a quiet time. */
  readonly callsBurst: number;
  /** Units of launch work side by side. */
  readonly callsInParallel: number;
};

/** How long a claim may take from launch to initialized. */
export type LifecycleConfig = {
  /** A claim without an instance is given up this long after it was made. */
  readonly launchTimeoutMs: number;
  /** A claim without a registered node is given up this long after its launch. */
  readonly registrationTimeoutMs: number;
  /** A cordoned node opens to everyone at the latest this long after it registered. */
  readonly placementDeadlineMs: number;
  /**
   * A node opens this long after our watch has shown its bindings: before, kube-scheduler may think
   * it empty.
   */
  readonly openAfterMs: number;
  /** A node that is not usable this long after it registered keeps no room for pods any more. */
  readonly initializationTimeoutMs: number;
  /** Claims that are taken a step further side by side. */
  readonly inParallel: number;
};

/** How often AWS, the cluster and the pools are read again. */
type DiscoveryConfig = {
  readonly subnetRefreshMs: number;
  readonly securityGroupRefreshMs: number;
  readonly imageRefreshMs: number;
  readonly priceRefreshMs: number;
  readonly instanceTypeRefreshMs: number;
  readonly clusterRefreshMs: number;
  /** Wait after a failed discovery. */
  readonly retryMs: number;
  /** While something stands in for what could not be read, the wait doubles up to this. */
  readonly retryMaxMs: number;
  /** A lasting failure is logged once, and then at most this often. */
  readonly sayAgainMs: number;
  /** A launch template that no intent uses is deleted this long after its last use. */
  readonly templateIdleMs: number;
  /**
   * Karpenter's VM_MEMORY_OVERHEAD_PERCENT: the share of memory that the hypervisor keeps, 0 to 1.
   */
  readonly vmMemoryOverheadPercent: number;
  /** Karpenter's RESERVED_ENIS: network interfaces that pods cannot use. */
  readonly reservedEnis: number;
};

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const admission: AdmissionConfig = {
  // A batch is planned in seconds. A plan that waited a minute judges a cluster that has moved on.
  planAgeMaxMs: minute,
  // Enough for kube-scheduler to bind a large deployment; shorter than anyone waits for idle room.
  promiseMs: 2 * minute,
  // The reaper drains a replaced node within its PDBs; the room must outlast an ordinary drain.
  replacementPromiseMs: 10 * minute,
  // Trades the API server's priority-and-fairness share for the time of a round.
  writesInParallel: 64,
  // Bounds the time of one round. Plans that are left over are judged in the next.
  plansPerRoundMax: 32,
};

const launch: LaunchConfig = {
  // Fewer requests against more claims that fail together; the intent is also one annotation long.
  membersMax: 50,
  // Karpenter's (providers/instance: 60 types after its filters).
  typesMax: 60,
  // Claims of one round arrive within milliseconds. Karpenter's CreateFleet batcher idles 35 ms.
  gatherMs: 25,
  // We know of no documented lifetime of a fleet's ClientToken. A lookup by tag costs little, so
  // this is short.
  resendMaxMs: 10 * minute,
  // EC2's answers are eventually consistent; trades a late relaunch for a double one.
  consistencyMs: 30 * second,
  // Trades a late launch for calls in vain. In 2 s EC2's bucket refills for ten calls of all
  // claims.
  attemptMs: 2 * second,
  // Trades a launch that is late by a minute after a long outage for calls in vain during it.
  attemptMaxMs: minute,
  // Karpenter's (pkg/cache: unavailable offerings for 3 minutes); it does not double the time.
  avoidMs: 3 * minute,
  // Three doublings. Longer would miss capacity that came back; shorter asks in vain more often.
  avoidMaxMs: limits.avoidedMsMax,
  // The mutating bucket that Karpenter's kwok provider assumes of EC2: 5 a second, 50 at once.
  callsPerSecond: 5,
  callsBurst: 50,
  // At five calls a second, twenty keep the pace up to four seconds a call.
  callsInParallel: 20,
};

const lifecycle: LifecycleConfig = {
  // Karpenter's (nodeclaim/lifecycle/liveness.go).
  launchTimeoutMs: 5 * minute,
  registrationTimeoutMs: 15 * minute,
  // A node that is not usable by then helps more when it is open to all.
  placementDeadlineMs: 5 * minute,
  // Longer than any watch lags in a healthy cluster; `npm run trials` shows the effect.
  openAfterMs: second,
  // As long as a node may take to register. Drivers behind startup taints need up to ten minutes.
  initializationTimeoutMs: 15 * minute,
  // As with admission's writes: the API server's share for the time of a burst of joining nodes.
  inParallel: 64,
};

const discovery: DiscoveryConfig = {
  // Karpenter's: subnets each minute, groups and images every five, types and prices every twelve
  // hours.
  subnetRefreshMs: minute,
  securityGroupRefreshMs: 5 * minute,
  imageRefreshMs: 5 * minute,
  priceRefreshMs: 12 * hour,
  instanceTypeRefreshMs: 12 * hour,
  // Karpenter's (providers.version: 5 minutes).
  clusterRefreshMs: 5 * minute,
  // Short beside every refresh above, and six calls a minute to a service that refuses them.
  retryMs: 10 * second,
  // The cluster's own refresh: what stands in must not cost more calls than the real thing.
  retryMaxMs: 5 * minute,
  // Rare enough for a log of days, often enough for an operator who looks at the last minutes.
  sayAgainMs: 5 * minute,
  // As long as an intent may be sent again.
  templateIdleMs: launch.resendMaxMs,
  // Karpenter's defaults.
  vmMemoryOverheadPercent: 0.075,
  reservedEnis: 0,
};

/** The defaults: Karpenter's times where it has them, otherwise what each constant says. */
export const defaultLauncherConfig: Omit<LauncherConfig, 'clusterName' | 'region'> = {
  isolatedVpc: false,
  placement: 'bind',
  consolidates: true,
  hostnameSpread: defaultPlanOptions.hostnameSpread,
  minValuesPolicy: defaultPlanOptions.minValuesPolicy,
  admission,
  launch,
  lifecycle,
  discovery,
};
