import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Requirements,
  Resources,
  StorageClass,
  Taint,
} from '@dovetail/core-kube-model';

/**
 * Room that exists or is promised: a node, or a NodeClaim whose node has not joined yet (`state:
 * 'in-flight'`). For nodes that are not initialised, capacity comes from the claim where the node
 * still says zero, and startup and ephemeral taints are already left out.
 */
export type ExistingNode = {
  /** Node name, or the claim's name while in flight. */
  readonly name: string;
  readonly uid: string;
  readonly claimName?: string;
  /** `NodePool/default`; absent for nodes that nobody manages here. */
  readonly poolKey?: string;
  readonly state: 'in-flight' | 'uninitialized' | 'ready' | 'deleting';
  /**
   * Labels as they are or, for a claim, as they are known to become; other keys of `requirements`
   * are still open.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** For claims in flight: what is not decided yet (instance type, zone), else empty. */
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
  readonly cordoned: boolean;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly instanceType?: string;
  readonly priceMicrosPerHour?: number;
  /** Pods bound here, daemonset pods included. */
  readonly pods: readonly Pod[];
  /** Pods that have been promised a place here and are not bound yet. */
  readonly promisedPods: readonly Pod[];
  /** Room reserved for replacements of pods that are being evicted (by class, not by UID). */
  readonly reserved: Resources;
};

/** A pool together with what its class can boot. */
export type PoolOptions = { readonly pool: Pool; readonly instanceTypes: readonly InstanceType[] };

/** Everything that planning reads. A value: planning never reaches outside it. */
export type Snapshot = {
  /** Sequence of the state feed that this stands for, for the plan to name what it saw. */
  readonly stateSequence: number;
  readonly catalogRevision: string;
  /** `epoch.number` of the last admission seen; empty before the first. */
  readonly admissionHead: string;
  readonly pools: readonly PoolOptions[];
  readonly nodes: readonly ExistingNode[];
  readonly daemonSets: readonly DaemonSet[];
  readonly namespaces: readonly Namespace[];
  readonly persistentVolumes: readonly PersistentVolume[];
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[];
  readonly storageClasses: readonly StorageClass[];
  readonly csiNodes: readonly CsiNode[];
};

export type PlanOptions = {
  /** Seeds every random choice; equal snapshot, seed and steps give equal bytes. */
  readonly seed: number;
  /** The most improvement steps after the first plan; a step is one dissolve-and-rebuild. */
  readonly stepsMax: number;
  /**
   * Asked between steps (and inside long stages): true ends the search early. The only door for the
   * clock. `nodes` is how many nodes are still to be written out after that, which takes about
   * `finishMsPerNode` each.
   */
  readonly shouldStop?: (nodes: number) => boolean;
  readonly preferencePolicy: 'Respect' | 'Ignore';
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /**
   * `balanced`: as kube-scheduler, every eligible node counts; `strict`: the emptiest node always
   * counts as 0.
   */
  readonly hostnameSpread: 'balanced' | 'strict';
  /**
   * `Strict`: a pod that could use a reservation waits for it; `Fallback`: it may go to spot or
   * on-demand.
   */
  readonly reservedOfferings: 'Strict' | 'Fallback';
  /** The most instance types that a bin names (cheapest first). */
  readonly instanceTypesMax: number;
  /** Compute the tighter lower bounds too (costs time); the closed-form bound is always there. */
  readonly bounds: 'quick' | 'tight';
};
