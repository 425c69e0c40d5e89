import { type Pool, taints } from '@dovetail/core-api';
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
 * 'in-flight'`). A node that is not initialised has its claim's capacity where its own is still
 * zero. Its startup and ephemeral taints are left out.
 */
export type ExistingNode = {
  /** The node's name, or the claim's name while it is in flight. */
  readonly name: string;
  readonly uid: string;
  readonly claimName?: string;
  /** The pool as `NodePool/default`; absent for nodes that no pool manages. */
  readonly poolKey?: string;
  readonly state: 'in-flight' | 'uninitialized' | 'ready' | 'deleting';
  /**
   * The labels of the node, or those that a claim's node will surely have. Other keys of
   * `requirements` are still open.
   */
  readonly labels: Readonly<Record<string, string>>;
  /** The undecided requirements of a claim in flight (instance type, zone); empty for a node. */
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
  readonly cordoned: boolean;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly instanceType?: string;
  readonly priceMicrosPerHour?: number;
  /** The pods bound to this node, and those of daemonsets that were made for it and wait. */
  readonly pods: readonly Pod[];
  /** The pods that have a promised place on this node and are not bound yet. */
  readonly promisedPods: readonly Pod[];
  /** Room reserved for replacements of pods that are being evicted, by class and not by UID. */
  readonly reserved: Resources;
};

/** A pool and the instance types that its node class can boot. */
export type PoolOptions = {
  readonly pool: Pool;
  readonly instanceTypes: readonly InstanceType[];
  /**
   * Offerings at this price or above are not bought, in micro-dollars an hour; absent: all may be.
   * A spread still counts their zones: pods that come later may get nodes there.
   */
  readonly priceBelowMicrosPerHour?: number;
};

/** Everything that planning reads. Planning reads no other state. */
export type Snapshot = {
  /** The sequence of the state feed that this snapshot stands for. The plan repeats it. */
  readonly stateSequence: number;
  readonly catalogRevision: string;
  /** The last admission seen, as `epoch.number`; empty before the first. */
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

/**
 * A node as it will be while it is drained: it takes no pods and has none, but it is still there. A
 * spread counts its zone and its hostname until it is gone, so pods that leave it are refused
 * elsewhere as long. The scheduler sees it so, and so does the plan for those pods.
 */
export const drained = (node: ExistingNode): ExistingNode => ({
  ...node,
  state: 'deleting',
  cordoned: true,
  taints: [...node.taints.filter(({ key }) => key !== taints.disrupted.key), taints.disrupted],
  pods: [],
  promisedPods: [],
  reserved: {},
});

/** A snapshot but for its nodes, for who keeps those itself. */
export type Surroundings = Omit<Snapshot, 'nodes'>;

/** The policies and limits of planning. Times enter only through `shouldStop`. */
export type PlanOptions = {
  /** The seed of every random number. Equal snapshot, pods, seed and steps give equal bytes. */
  readonly seed: number;
  /** The most improvement steps after the first plan. A step dissolves and rebuilds a few nodes. */
  readonly stepsMax: number;
  /**
   * Asked between steps and inside long stages; true ends the search early. Planning learns of time
   * only here. `nodes` is the number of nodes still to be written out, each of which takes about
   * `finishMsPerNode`.
   */
  readonly shouldStop?: (nodes: number) => boolean;
  /**
   * Called between steps where `shouldStop` is not asked. The caller may do other work in it, also
   * make another plan. It never changes the plan.
   */
  readonly giveWay?: () => void;
  readonly preferencePolicy: 'Respect' | 'Ignore';
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /**
   * `balanced` counts every eligible node, as kube-scheduler does. `strict` always counts the
   * emptiest node as 0.
   */
  readonly hostnameSpread: 'balanced' | 'strict';
  /**
   * With `Strict`, a pod that could use a reservation waits for it. With `Fallback`, it may go to
   * spot or on-demand.
   */
  readonly reservedOfferings: 'Strict' | 'Fallback';
  /**
   * The price of a node beyond its instance, in micro-dollars an hour: agents, licences, addresses.
   * Plans are compared with it. Prices in a plan leave it out.
   */
  readonly nodeChargeMicrosPerHour: number;
  /**
   * Of plans within this many thousandths of the least price found, charges included, the one with
   * the fewest nodes is taken. With 0 only the price counts.
   */
  readonly fewerNodesPermille: number;
  /**
   * The cpu and memory that a pod counts as on a new node where it requests none. Existing nodes
   * take pods by their requests alone, as kube-scheduler does. A pod that would find no place so
   * counts by its requests.
   */
  readonly assumedRequests: Resources;
  /** The most instance types that a bin names, cheapest first. */
  readonly instanceTypesMax: number;
  /**
   * How pods share the nodes that exist. With `first-fit`, each goes to the first that takes it.
   * With `filled`, pods that only resources bind are chosen so that each node fills up, which takes
   * longer and leaves less to buy.
   */
  readonly existingNodes: 'first-fit' | 'filled';
  /**
   * `tight` also computes the tighter lower bounds, which takes time. The closed-form bound is
   * always computed.
   */
  readonly bounds: 'quick' | 'tight';
};
