/** A node that goes, as the resource of its command names it. */
export type RecordedNode = {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly claimName: string;
  readonly claimUid: string;
};

/**
 * How far a command is. `Tainted`: all of its nodes keep new pods away, and its
 * plan may be carried out. `Ending`: all of them end, whatever happens. `TakenBack`: all of them
 * stay.
 */
export type CommandPhase = 'Tainted' | 'Ending' | 'TakenBack';

/** The phases, in the schema's order. */
export const commandPhases: readonly CommandPhase[] = ['Tainted', 'Ending', 'TakenBack'];

/**
 * A command, as its resource holds it (Disruption, dovetail.sh/v1alpha1). It is written before the
 * first taint, and deleted when no node carries its name any more.
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
  /** The dollars an hour that are saved, for people. */
  readonly savingPerHour?: string;
  /** Absent: not all of the nodes are tainted yet. */
  readonly phase?: CommandPhase;
  /** Why it is taken back. */
  readonly message?: string;
};

/** The parts of a new record. */
export type CommandRecordParts = Pick<
  CommandRecord,
  'name' | 'nodesOut' | 'planId' | 'savingPerHour'
>;

/** The resource of a new command, as the API server receives it. */
export const commandRecordObject = ({
  name,
  nodesOut,
  planId,
  savingPerHour,
}: CommandRecordParts) => ({
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
    ...(savingPerHour === undefined ? {} : { savingPerHour }),
  },
});
