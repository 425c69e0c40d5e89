import {
  annotations,
  type CommandRecord,
  type NodeClaim,
  type RecordedNode,
} from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import {
  causeOf,
  type Command,
  type CommandMember,
  commandOfRetirement,
  type DisruptionNote,
  note,
  parseRetirement,
  type Retirement,
} from '@dovetail/core-disruption';
import { isReschedulable, type Node, type Pod } from '@dovetail/core-kube-model';
import { inParallel } from '@dovetail/service-kit';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
import type { ReaperContext } from '../context.js';
import { readClaim, readNode, readPodsOn, UnreadablePod } from '../outside/live.js';
import { type Retired, stepOf } from './steps.js';

/** Nodes looked at side by side: a command has a hundred at most. */
export const membersAtOnce = 16;

/** A node that carries the name of its command, as the API server has it now. */
export type CarriedNode = Extract<CommandMember, { readonly kind: 'marked' }> & {
  readonly view: Retired;
  readonly retirement: Retirement;
};

/** A node of a command, as the API server has it now. */
export type LiveMember = Exclude<CommandMember, { readonly kind: 'marked' }> | CarriedNode;

/** The nodes that carry the name of a command and do not end yet, as the watch shows them. */
export const carriersIn = (cluster: ReaperCluster) =>
  [...cluster.nodes.values()].flatMap((node) => {
    const retirement = parseRetirement(node.annotations[annotations.retirement]);
    const command = commandOfRetirement(retirement);
    const claim = cluster.claimOfNode(node);
    const isOver = claim === undefined || claim.deletionMs !== undefined;
    return command === undefined || retirement === undefined || isOver
      ? []
      : [{ node, claim, retirement, command }];
  });

/** The nodes of a command, as the API server has them now. */
export const liveMembers = (
  context: ReaperContext,
  { name, nodesOut }: CommandRecord,
): Promise<readonly LiveMember[]> =>
  inParallel(nodesOut, membersAtOnce, (out) => liveMember(context, name, out));

/** The nodes among them that carry the command's name. */
export const carriedAmong = (members: readonly LiveMember[]): readonly CarriedNode[] =>
  members.filter((member) => member.kind === 'marked');

/**
 * The same as the watches show them, without a call. That is enough to wait: what cannot be taken
 * back is decided on the nodes as they are.
 */
export const watchedMembers = (
  context: ReaperContext,
  { name, nodesOut }: CommandRecord,
): Promise<readonly LiveMember[]> =>
  Promise.all(nodesOut.map((out) => watchedMember(context, name, out)));

function watchedMember(
  context: ReaperContext,
  command: string,
  out: RecordedNode,
): Promise<LiveMember> {
  const { cluster } = context;
  const claim = cluster.claims.one('name', out.claimName);
  const node = claim === undefined ? undefined : cluster.nodeOfClaim(claim);
  const readPods = () => Promise.resolve(cluster.pods.by('node', node?.name ?? ''));
  return memberOf(context, {
    command,
    out,
    claim,
    readNode: () => Promise.resolve(node),
    readPods,
  });
}

async function liveMember(
  context: ReaperContext,
  command: string,
  out: RecordedNode,
): Promise<LiveMember> {
  const { kube } = context.deps;
  return memberOf(context, {
    ...{ command, out, claim: await readClaim(kube, out.claimName) },
    readNode: (claim) => readNode(kube, context.cluster, claim),
    readPods: (node) => readPodsOn(kube, node.name),
  });
}

/** A recorded node, its claim, and how the rest of it is read. */
type MemberReading = {
  readonly command: string;
  readonly out: RecordedNode;
  readonly claim: NodeClaim | undefined;
  readonly readNode: (claim: NodeClaim) => Promise<Node | undefined>;
  readonly readPods: (node: Node) => Promise<readonly Pod[]>;
};

async function memberOf(context: ReaperContext, reading: MemberReading): Promise<LiveMember> {
  const { command, claim } = reading;
  const { claimUid, nodeUid } = reading.out;
  if (claim?.uid !== claimUid || claim.deletionMs !== undefined) return { kind: 'gone' };
  const node = await reading.readNode(claim);
  if (node?.uid !== nodeUid || node.deletionMs !== undefined) return { kind: 'gone' };
  const retirement = parseRetirement(node.annotations[annotations.retirement]);
  if (retirement === undefined) return { kind: 'free' };
  // An interruption or a repair has taken over: the node goes by itself.
  if (commandOfRetirement(retirement) === undefined)
    return causeOf(retirement).takesOver ? { kind: 'gone' } : { kind: 'free' };
  if (retirement.disruption !== command) return { kind: 'free' };
  const watched: Retired = { ...context.cluster.viewOf(claim), claim, node };
  if (!isTaintedDisrupted(node))
    return stays(watched, retirement, note('command-incomplete', `${node.name} is not tainted`));
  try {
    const view = { ...watched, pods: await reading.readPods(node) };
    const step = await stepOf(context, view, retirement);
    return { kind: 'marked', view, retirement, step };
  } catch (error) {
    if (!(error instanceof UnreadablePod)) throw error;
    return stays(watched, retirement, note('not-empty', error.message));
  }
}

const stays = (view: Retired, retirement: Retirement, why: DisruptionNote): LiveMember => ({
  kind: 'marked',
  view,
  retirement,
  step: { kind: 'abandon', notes: [why] },
});

/** A pod that came before the taint has no place in the plan. */
export function lateNote(
  { moves, nodesIn }: Command,
  members: readonly LiveMember[],
): DisruptionNote | undefined {
  if (nodesIn.length === 0) return undefined;
  const moving = new Set(moves.map(({ podUid }) => podUid));
  const pods = carriedAmong(members).flatMap(({ view }) => view.pods.filter(isReschedulable));
  const late = pods.find(({ uid }) => !moving.has(uid));
  return late === undefined
    ? undefined
    : note('not-empty', `pod ${late.namespace}/${late.name} came before the taint`);
}
