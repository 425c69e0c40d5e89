import { defaultPlanOptions } from '@dovetail/core-scheduling';

/** What the launcher is told. Times are in milliseconds. */
export type LauncherConfig = {
  /** The cluster's name: on tags, in subjects, and what EKS knows it by. */
  readonly clusterName: string;
  /** AWS region. */
  readonly region: string;
  /** The API server's address, as nodes reach it. Absent: EKS is asked. */
  readonly clusterEndpoint?: string;
  /** Base64 of the API server's CA certificate. Absent: EKS is asked. */
  readonly clusterCa?: string;
  /** What legacy classes without role and profile boot with. */
  readonly defaultInstanceProfile?: string;
  /** `bind`: the planned pods are bound to their nodes before those open. `scheduler`: where pods go is kube-scheduler's choice; the right to bind is not needed. */
  readonly placement: 'bind' | 'scheduler';
  /** `balanced` or `strict`, as the planner is run (PlanOptions): the checker must judge by the same rule. */
  readonly hostnameSpread: 'balanced' | 'strict';
  readonly preferencePolicy: 'Respect' | 'Ignore';
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly reservedOfferings: 'Strict' | 'Fallback';
  readonly admission: AdmissionConfig;
  readonly launch: LaunchConfig;
  readonly lifecycle: LifecycleConfig;
  readonly discovery: DiscoveryConfig;
};

export type AdmissionConfig = {
  /** A plan older than this is refused. */
  readonly planAgeMaxMs: number;
  /** How long room on an initialised node is kept for pods that were promised it. */
  readonly promiseMs: number;
  /** How long room on an existing node is kept for the pods of a node that is being replaced. */
  readonly replacementPromiseMs: number;
  /** Claims written, and messages told, side by side. */
  readonly writesInParallel: number;
  /** Plans judged in one round at most. */
  readonly plansPerRoundMax: number;
};

export type LaunchConfig = {
  /** Equal claims that share one fleet request at most. */
  readonly membersMax: number;
  /** Instance types in one fleet request at most (EC2 is slower and less predictable with more; Karpenter's number). */
  readonly typesMax: number;
  /** How long new claims are gathered before equal ones are put together. */
  readonly gatherMs: number;
  /** An intent older than this is not sent again: EC2 may have forgotten its token. Its instances are looked up by tag. */
  readonly resendMaxMs: number;
  /** How long a fresh instance may be missing from EC2's answers. */
  readonly consistencyMs: number;
  /** Wait before the second attempt; doubles with each. */
  readonly attemptMs: number;
  readonly attemptMaxMs: number;
  /** How long an offering without capacity is avoided, at first and at most. */
  readonly avoidMs: number;
  readonly avoidMaxMs: number;
  /** CreateFleet calls for the account, by all claims together. */
  readonly callsPerSecond: number;
  readonly callsBurst: number;
  readonly callsInParallel: number;
};

export type LifecycleConfig = {
  /** A claim that has not launched by then is given up. */
  readonly launchTimeoutMs: number;
  /** A claim whose node has not registered by then is given up. */
  readonly registrationTimeoutMs: number;
  /** A node that its pods are kept for opens to everyone at the latest this long after it registered. */
  readonly placementDeadlineMs: number;
  /** A node opens this long after our own watch has shown its bindings: until then kube-scheduler may take it for empty. */
  readonly openAfterMs: number;
  readonly inParallel: number;
};

export type DiscoveryConfig = {
  readonly subnetRefreshMs: number;
  readonly securityGroupRefreshMs: number;
  readonly imageRefreshMs: number;
  readonly priceRefreshMs: number;
  readonly instanceTypeRefreshMs: number;
  readonly clusterRefreshMs: number;
  /** Try again after a failed discovery. */
  readonly retryMs: number;
  readonly poolStatusMs: number;
  /** A launch template that no class and no intent uses is deleted this long after it was last used. */
  readonly templateIdleMs: number;
  readonly vmMemoryOverheadPercent: number;
  readonly reservedEnis: number;
};

const second = 1000;
const minute = 60 * second;

/** Karpenter's times where it has them; the rest measured or reasoned in docs/architecture.md. */
export function defaultLauncherConfig(named: { readonly clusterName: string; readonly region: string }): LauncherConfig {
  // The planner's rules, by which its plans are judged: reserved capacity is Strict, as in Karpenter's provisioner.
  const { hostnameSpread, preferencePolicy, minValuesPolicy, reservedOfferings } = defaultPlanOptions;
  return {
    ...named,
    placement: 'bind', hostnameSpread, preferencePolicy, minValuesPolicy, reservedOfferings,
    admission: { planAgeMaxMs: minute, promiseMs: 2 * minute, replacementPromiseMs: 10 * minute, writesInParallel: 64, plansPerRoundMax: 32 },
    launch: {
      membersMax: 50, typesMax: 60, gatherMs: 25, resendMaxMs: 10 * minute, consistencyMs: 30 * second, attemptMs: 2 * second, attemptMaxMs: minute,
      avoidMs: 3 * minute, avoidMaxMs: 24 * minute, callsPerSecond: 5, callsBurst: 50, callsInParallel: 20,
    },
    lifecycle: { launchTimeoutMs: 5 * minute, registrationTimeoutMs: 15 * minute, placementDeadlineMs: 5 * minute, openAfterMs: second, inParallel: 64 },
    discovery: {
      subnetRefreshMs: minute, securityGroupRefreshMs: 5 * minute, imageRefreshMs: 5 * minute, priceRefreshMs: 12 * 60 * minute,
      instanceTypeRefreshMs: 12 * 60 * minute, clusterRefreshMs: 5 * minute, retryMs: 10 * second, poolStatusMs: 5 * second, templateIdleMs: 10 * minute,
      vmMemoryOverheadPercent: 0.075, reservedEnis: 0,
    },
  };
}
