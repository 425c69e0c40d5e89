import { annotations, taints } from '@dovetail/core-api';
import type { RetirementCause } from '@dovetail/core-disruption';
import { kubeResources } from '@dovetail/core-ports';

import { isCopy } from '../user-commands.js';
import {
  type Claim,
  claimsOn,
  instanceOfClaim,
  instanceOfNode,
  isDeleted,
  namedInstance,
  type Node,
  nodesOn,
  type Pod,
  podsWithRoom,
  retirementOf,
  stayingPods,
} from './facts.js';
import type { Law, Story } from './watchman.js';

const claimTable = 'nodeclaims.karpenter.sh';

/** Whether something is known that entitles services to end the claim now. */
function hasRight({ stage, taken, deletedByHand }: Story, claim: Claim): boolean {
  const id = namedInstance(claim);
  const node = nodesOn(stage).find((each) => id !== '' && instanceOfNode(each) === id);
  // A node that has not joined can be given up, and an instance that EC2 takes is lost anyway.
  if (node === undefined || taken.has(id) || !stage.runningInstances().includes(id)) return true;
  const names = [claim.metadata.name, node.metadata.name];
  if (names.some((name) => deletedByHand.has(name)) || isCopy(claim.metadata.name)) return true;
  return retirementOf(node) !== undefined || stayingPods(stage, node.metadata.name).length === 0;
}

/** No live node that runs pods is given up, unless someone asked for it or it is being retired. */
const noneEndedWithoutRight: Law = (story) => {
  const { stage, tell } = story;
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== claimTable || before === undefined || isDeleted(before)) return;
    if (isDeleted(object) && !hasRight(story, object))
      tell(`claim ${object.metadata.name} was deleted without a right to its node`);
  });
};

/** Services evict pods. They delete one only when the time of its node runs out. */
const podsAreEvicted: Law = ({ stage, tell }) => {
  stage.onPodDeletion = ({ service, ref }) => {
    const pod = stage.find(kubeResources.pods, ref.name) as Pod | undefined;
    const node = nodesOn(stage).find(({ metadata }) => metadata.name === pod?.spec?.nodeName);
    if (pod === undefined || node === undefined || isDeleted(pod)) return;
    const claim = claimsOn(stage).find((each) => instanceOfClaim(each) === instanceOfNode(node));
    const deadline = claim?.metadata.annotations?.[annotations.terminationTimestamp];
    if (deadline === undefined) tell(`${service} deleted ${ref.name}, whose node has time`);
  };
};

/** Causes that wait until the node's pods have another place, and for how long at most. */
const waitMs: Partial<Readonly<Record<RetirementCause, number>>> = {
  drifted: Infinity,
  underutilized: Infinity,
  expired: 900_000,
};

/** The pods of a node that is given up, whose successors have no room, although it has time. */
function podsWithoutRoom({ stage, deletedByHand }: Story, node: Node): readonly Pod[] {
  const retirement = retirementOf(node);
  if (retirement === undefined || deletedByHand.has(node.metadata.name)) return [];
  const { cause, atMs, answeredMs = atMs } = retirement;
  const limitMs = waitMs[cause];
  if (limitMs === undefined || stage.clock.nowMs() - answeredMs >= limitMs) return [];
  const rooms = podsWithRoom(stage);
  return stayingPods(stage, node.metadata.name).filter(
    ({ metadata }) => !rooms.has(metadata.uid ?? ''),
  );
}

/**
 * A node that has time ends once its pods have room elsewhere. One that expired takes pods until
 * then, and is not tainted before.
 */
const podsHaveRoomFirst: Law = (story) => {
  const { stage, deletedByHand, tell } = story;
  const judge = (node: Node, what: string): void => {
    const { length } = podsWithoutRoom(story, node);
    if (length > 0)
      tell(`${node.metadata.name} ${what}, and ${String(length)} of its pods have no other room`);
  };
  stage.store.subscribe(({ table, object, before }) => {
    if (before === undefined) return;
    if (table === 'nodes' && isTainted(object) && !isTainted(before))
      if (retirementOf(object)?.cause === 'expired') judge(object, 'is tainted');
    if (table !== claimTable || !isDeleted(object) || isDeleted(before)) return;
    const id = namedInstance(object);
    const node = nodesOn(stage).find((each) => id !== '' && instanceOfNode(each) === id);
    const { name } = object.metadata;
    if (node !== undefined && !deletedByHand.has(name) && !isCopy(name)) judge(node, 'ends');
  });
};

const isTainted = ({ spec }: Node): boolean =>
  (spec?.taints ?? []).some(({ key }) => key === taints.disrupted.key);

/** Tainted this often within this time, a node is of no use, and nothing is gained. */
const flapping = { timesMax: 8, withinSeconds: 600 };

/** No node is tainted and given back over and over. */
const noneFlaps: Law = ({ stage, tell }) => {
  const taintedAt = new Map<string, readonly number[]>();
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    if (!isTainted(object) || isTainted(before)) return;
    const { name } = object.metadata;
    const since = stage.seconds() - flapping.withinSeconds;
    const times = [...(taintedAt.get(name) ?? []).filter((at) => at > since), stage.seconds()];
    taintedAt.set(name, times);
    if (times.length === flapping.timesMax)
      tell(`node ${name} was tainted ${String(times.length)} times within ten minutes`);
  });
};

/** Laws that hold for nodes and their pods at every moment. */
export const lawsOfNodes: readonly Law[] = [
  noneEndedWithoutRight,
  podsAreEvicted,
  podsHaveRoomFirst,
  noneFlaps,
];
