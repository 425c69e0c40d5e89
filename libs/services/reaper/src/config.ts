import {
  type CollectionLimits,
  defaultMoveCostMicrosPerHour,
  defaultSavingMin,
  type GhostLimits,
  type RetirementLimits,
} from '@dovetail/core-disruption';

/** The settings of the reaper. Times are in milliseconds. */
export type ReaperConfig = {
  /** The cluster's name: on EC2 tags and in subjects. */
  readonly clusterName: string;
  /** Whether unhealthy nodes are repaired: Karpenter's feature gate NodeRepair. */
  readonly nodeRepair: boolean;
  /** Whether they end by force, without a replacement first: Karpenter's `--legacy-node-repair`. */
  readonly legacyNodeRepair: boolean;
  /**
   * `delete`: nodes whose pods all fit on others are given up. `replace`: also nodes for whose pods
   * one cheaper node can be bought. `all`: also several nodes together. `search`: a solver searches
   * the whole cluster, and several nodes may be bought for several. `none`: only empty nodes are.
   */
  readonly consolidation: 'none' | 'delete' | 'replace' | 'all' | 'search';
  /** Whether a Spot node replaces a Spot node: Karpenter's gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /**
   * Whether metrics of every node and pod are shown. Karpenter does, too, unless
   * `DISABLE_CLUSTER_STATE_OBSERVABILITY` is set.
   */
  readonly observesClusterState: boolean;
  /**
   * The shortest time between two comparisons of the price of all nodes with that of a plan from
   * nothing. It trades the age of the numbers for a solver's time; 0: none is made.
   */
  readonly gapEveryMs: number;
  readonly disruption: DisruptionConfig;
  readonly termination: TerminationConfig;
  readonly interruption: InterruptionConfig;
  readonly collection: CollectionConfig;
};

type DisruptionConfig = RetirementLimits & {
  /**
   * The longest pause between two passes over all nodes (Karpenter: 10 s); changes in the cluster
   * cut it short.
   */
  readonly passIntervalMs: number;
  /**
   * The shortest pause between two passes, however much changes. It trades the load of a pass over
   * all nodes for the time until a change counts.
   */
  readonly passPauseMs: number;
  /**
   * If our clock differs by more from the API server's, no node ends for its age or its rest. It
   * trades an alarm that nobody needs, as NTP keeps clocks within a second, for nodes that end this
   * much too early. A Lease of 15 s bears as much.
   */
  readonly clockDifferenceMsMax: number;
  /**
   * The time that a solver has to improve the plan of a what-if. It trades the price of the
   * replacement for the place of other pods in the solver's line.
   */
  readonly planBudgetMs: number;
  /**
   * The same for a node with a deadline: as long as pending pods get. Hundreds of nodes may be
   * noticed in one second, and their what-ifs stand in one line.
   */
  readonly urgentPlanBudgetMs: number;
  /**
   * The longest wait for a solver's answer to a what-if. It covers the solver's wait of 2 s for its
   * mirror, the budget, and the writing of a large plan.
   */
  readonly planTimeoutMs: number;
  /**
   * Pause after a what-if that no solver took. It trades the start of a replacement for questions
   * while every solver is busy or away.
   */
  readonly askRetryMs: number;
  /**
   * Nodes that go for one reason are asked for together once no further one has come for `quietMs`,
   * and after `maxMs` at the latest. It trades half a second of the two minutes of a Spot notice
   * for one plan of all noticed nodes. Karpenter's batch of pending pods waits for 1 s and 10 s.
   */
  readonly askGather: { readonly quietMs: number; readonly maxMs: number };
  /** Nodes that wait for an answer side by side: as many as may be noticed in one moment. */
  readonly askNodesMax: number;
  /**
   * What-ifs side by side where nodes are asked for one by one. A solver plans one at a time; more
   * would only wait there until they are too late.
   */
  readonly askConcurrency: number;
  /**
   * How long a node is left alone after its retirement was given up. A watch may be silent for
   * minutes and show as empty what is not. A fault that keeps a replacement from being planned may
   * last, too, and other expired nodes have their turn.
   */
  readonly abandonPause: { readonly firstMs: number; readonly maxMs: number };
  /**
   * `lastPodEventTime` alone is written at most this often per claim (Karpenter: 10 s). It trades
   * calls for busy nodes against the age of the time that a successor finds.
   */
  readonly podEventPauseMs: number;
  /**
   * A command waits this long and is then judged again (Karpenter: 15 s). It trades the saving for
   * moves that the next pods would have made needless.
   */
  readonly validationDelayMs: number;
  /**
   * Pods that a command moved, and nodes that it bought, are left alone for this long, unless the
   * next command pays for both moves. Karpenter has no such time. It trades money for evictions.
   */
  readonly movePauseMs: number;
  /** The longest search for a command (Karpenter's timeout of single-node consolidation). */
  readonly consolidationSearchMsMax: number;
  /** The longest search for nodes that can go together (Karpenter's timeout of this search). */
  readonly togetherSearchMsMax: number;
  /**
   * The longest search of a solver over the whole cluster. 500 nodes take it about 10 s. It trades
   * the commands of large clusters for the time until the first is carried out.
   */
  readonly searchBudgetMs: number;
  /** The shortest time between two such searches. It trades their load for the time of savings. */
  readonly searchPauseMs: number;
  /**
   * A replacement that saves less is left, in micro-dollars an hour and as a share of the price
   * before. Karpenter takes any saving. It trades money for pods that move, and keeps small changes
   * of Spot prices from moving them back and forth.
   */
  readonly replacementSavingMin: { readonly microsPerHour: number; readonly share: number };
  /**
   * The move of an ordinary pod must save so many micro-dollars an hour; others cost more or less.
   * For Karpenter moves are free.
   */
  readonly moveCostMicrosPerHour: number;
};

/** How nodes are drained and their instances ended. */
export type TerminationConfig = {
  /** Nodes worked on side by side (Karpenter's node.termination: 100 at least). */
  readonly concurrency: number;
  /**
   * Draining takes at least this long (Karpenter: 5 s): a pod that was just being bound is seen.
   */
  readonly drainMinMs: number;
  /**
   * The longest time that EC2 may hide an instance after its launch; its answers are eventually
   * consistent. It trades a claim whose instance vanished at once, and that stays this long, for an
   * instance that outlives its claim.
   */
  readonly hiddenMsMax: number;
  /** Pause between looks at a node that drains or waits for volumes (Karpenter: 1 s). */
  readonly drainPauseMs: number;
  /**
   * Pause between looks at an instance that is ending. Karpenter waits 5 s; 2 s end a claim sooner,
   * for more questions to EC2, which are gathered.
   */
  readonly instancePauseMs: number;
  /**
   * Wait before a refused eviction is tried again; doubles up to the maximum. Karpenter begins with
   * 100 ms. A PodDisruptionBudget seldom gives way that soon, and each try is a call.
   */
  readonly evictionRetryMs: number;
  /** The longest wait between two tries to evict a pod (Karpenter's). */
  readonly evictionRetryMaxMs: number;
  /**
   * Instances terminated in any minute, by everything together. It equals what EC2's bucket for
   * TerminateInstances refills: 5 calls a second, of one instance each. It bounds the harm of a
   * fault of ours; more would let large clusters shrink faster.
   */
  readonly terminationsPerMinute: number;
  /**
   * Terminations are gathered this long, so that many become one call. Karpenter gathers for 100 ms
   * of quiet; a node that ends alone waits half as long here.
   */
  readonly gatherMs: number;
  /**
   * Questions for the state of an ending instance are gathered this long: nothing hangs on them.
   * Karpenter's window ends after 1 s, too.
   */
  readonly stateGatherMs: number;
  /**
   * Lists of the whole cluster are shared by all that ask within this time. It trades the age of
   * the answer for the size of such a list.
   */
  readonly listGatherMs: number;
};

type InterruptionConfig = {
  /** How long after a Spot notice the instance is reclaimed (AWS: two minutes). */
  readonly noticeMs: number;
  /**
   * A reserve within that time, so that the last pods end before the machine does. It trades time
   * for the drain against pods that are killed with the machine.
   */
  readonly marginMs: number;
  /** Pause between two readings of EC2's status checks and scheduled events (Karpenter: 1 min). */
  readonly statusIntervalMs: number;
  /** A type and zone that was interrupted is avoided for Spot for this long (Karpenter: 3 min). */
  readonly avoidMs: number;
  /**
   * A message about an instance that nobody knows yet is left in the queue up to this many
   * receives. It trades patience with a claim that is still being written for messages that come
   * back in vain.
   */
  readonly receivesMax: number;
  /**
   * Pause after the queue could not be read. It trades calls in vain for seconds of the two minutes
   * that a Spot notice leaves.
   */
  readonly retryMs: number;
  /**
   * Receives that wait for messages side by side; each brings ten at most (the limit of SQS). Forty
   * messages are then in hand; Karpenter works on the ten of one receive.
   */
  readonly receivers: number;
  /**
   * The most receives side by side while they come back full. A thousand messages a second that
   * each take a fifth of a second are two hundred in hand.
   */
  readonly receiversMax: number;
  /** Messages that are done within this time are deleted in one call, ten at most in each. */
  readonly deleteGatherMs: number;
};

type CollectionConfig = CollectionLimits &
  GhostLimits & {
    /**
     * Pause between passes at first, and after the given number of passes that went well
     * (Karpenter: 10 s, then 2 min).
     */
    readonly firstIntervalMs: number;
    readonly firstPasses: number;
    readonly intervalMs: number;
  };

/** The defaults: Karpenter's where it has them. Everything else says why where it is declared. */
export const defaultReaperConfig: Omit<ReaperConfig, 'clusterName'> = {
  nodeRepair: false,
  legacyNodeRepair: false,
  consolidation: 'all',
  spotToSpot: false,
  observesClusterState: true,
  gapEveryMs: 600_000,
  disruption: {
    passIntervalMs: 10_000,
    passPauseMs: 500,
    clockDifferenceMsMax: 10_000,
    planBudgetMs: 1_000,
    urgentPlanBudgetMs: 100,
    planTimeoutMs: 5_000,
    askRetryMs: 5_000,
    askGather: { quietMs: 500, maxMs: 5_000 },
    askNodesMax: 1_000,
    askConcurrency: 16,
    abandonPause: { firstMs: 10_000, maxMs: 600_000 },
    podEventPauseMs: 10_000,
    expiryWaitMs: 900_000,
    interruptionWaitMs: 60_000,
    unansweredWaitMs: 30_000,
    unansweredExpiryMs: 300_000,
    consolidationWaitMs: 600_000,
    validationDelayMs: 15_000,
    movePauseMs: 1_800_000,
    consolidationSearchMsMax: 180_000,
    togetherSearchMsMax: 60_000,
    searchBudgetMs: 30_000,
    searchPauseMs: 60_000,
    replacementSavingMin: defaultSavingMin,
    moveCostMicrosPerHour: defaultMoveCostMicrosPerHour,
    drainReserveMs: 10_000,
    askAgainMs: 75_000,
    askAgainUrgentMs: 15_000,
  },
  termination: {
    concurrency: 100,
    drainMinMs: 5_000,
    // EC2 is seldom behind by more than seconds. The launcher buys again after half of this.
    hiddenMsMax: 60_000,
    drainPauseMs: 1_000,
    instancePauseMs: 2_000,
    evictionRetryMs: 1_000,
    evictionRetryMaxMs: 10_000,
    terminationsPerMinute: 300,
    gatherMs: 50,
    stateGatherMs: 1_000,
    listGatherMs: 500,
  },
  interruption: {
    noticeMs: 120_000,
    marginMs: 10_000,
    statusIntervalMs: 60_000,
    avoidMs: 180_000,
    receivesMax: 5,
    retryMs: 5_000,
    receivers: 4,
    receiversMax: 32,
    deleteGatherMs: 50,
  },
  collection: {
    instanceAgeMinMs: 30_000,
    claimAgeMinMs: 120_000,
    suspicionMinMs: 120_000,
    nodeMissingMinMs: 300_000,
    fleetShareMax: 0.1,
    alwaysAllowed: 3,
    firstIntervalMs: 10_000,
    firstPasses: 20,
    intervalMs: 120_000,
  },
};
