/** A node that goes, as the resource of its command names it. */
export type RecordedNode = {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly claimName: string;
  readonly claimUid: string;
};

/**
 * How far a command is. `Tainted`: all of its nodes keep new pods away, and its plan may be carried
 * out. `Ending`: all of them end, whatever happens. `TakenBack`: all of them stay.
 */
export type CommandPhase = 'Tainted' | 'Ending' | 'TakenBack';

/** The phases, in the schema's order. */
export const commandPhases: readonly CommandPhase[] = ['Tainted', 'Ending', 'TakenBack'];

/**
 * A command, as its resource holds it (Disruption, dovetail.sh/v1alpha1). It is written before the
 * first taint. Once no node carries its name any more, it is over, and stays for people to read.
 */
export type CommandRecord = {
  readonly uid: string;
  /** The name of the command. The retirement of each node out carries it. */
  readonly name: string;
  /** When its deletion was asked for. */
  readonly deletionMs?: number;
  readonly nodesOut: readonly RecordedNode[];
  /** The plan by which a node is bought for their pods. Absent: none is bought. */
  readonly planId?: string;
  /** Absent: not all of the nodes are tainted yet. */
  readonly phase?: CommandPhase;
  /** Why it is taken back. */
  readonly message?: string;
  /** When it was over: no node carried its name any more. Absent: it is under way. */
  readonly endedMs?: number;
};

/** A node that a command buys, for people. Prices are dollars an hour. */
type RecordedPurchase = {
  /** `NodePool/default`. */
  readonly pool: string;
  /** The cheapest options, `m6g.large in us-west-2a (spot)`. */
  readonly options: readonly string[];
  readonly pricePerHour: string;
  /** The most that the launched instance may cost. */
  readonly maxPricePerHour: string;
};

/** Where a pod goes, for people: to a node, or to `new node 1`. */
type RecordedMove = { readonly pod: string; readonly from: string; readonly to: string };

/** The words for people about a command. Prices are dollars an hour. */
export type CommandTold = {
  /** `n1, n2 → 1 new node; 5 pods move`. */
  readonly summary: string;
  readonly nodesIn: readonly RecordedPurchase[];
  readonly moves: readonly RecordedMove[];
  readonly pricePerHourBefore: string;
  readonly pricePerHourAfter: string;
  readonly savingPerHour: string;
  /** Karpenter's cost: 1, plus the eviction costs of the pods that move, for each node out. */
  readonly disruptionCost: string;
};

/** The parts of a new record. */
export type CommandRecordParts = Pick<CommandRecord, 'name' | 'nodesOut' | 'planId'> & {
  readonly told: CommandTold;
};

/** The resource of a new command, as the API server receives it. */
export const commandRecordObject = ({ name, nodesOut, planId, told }: CommandRecordParts) => ({
  metadata: { name },
  spec: {
    cause: 'underutilized',
    nodesOut: nodesOut.map(({ nodeName, nodeUid, claimName, claimUid }) => ({
      nodeName,
      nodeUID: nodeUid,
      claimName,
      claimUID: claimUid,
    })),
    ...(planId === undefined ? {} : { planID: planId }),
    ...told,
  },
});
