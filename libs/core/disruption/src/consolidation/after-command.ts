import { labels, poolKey } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import type { ExistingNode, Snapshot } from '@dovetail/core-scheduling';

import type { Command, NodeIn } from './command.js';

/**
 * The cluster as it will be once a command is done. Nodes out are gone, and pods that moved count
 * where they are then. The nodes in take no other pods, so no later command relies on this one.
 */
export function afterCommand(
  snapshot: Snapshot,
  command: Command,
  podOf: ReadonlyMap<string, Pod>,
): Snapshot {
  const out = new Set(command.nodesOut.map(({ nodeUid }) => nodeUid));
  const arriving = new Map<string, Pod[]>();
  for (const { podUid, to } of command.moves) {
    const place = to.kind === 'node' ? to.nodeUid : uidOf(command, to.binId);
    const pod = present(podOf.get(podUid), 'a pod that moves is known');
    arriving.set(place, [...(arriving.get(place) ?? []), pod]);
  }
  const joined = (node: ExistingNode): ExistingNode => {
    const pods = arriving.get(node.uid);
    if (pods === undefined) return node;
    return { ...node, pods: [...node.pods, ...pods.map((pod) => boundTo(pod, node.name))] };
  };
  const stay = snapshot.nodes.filter(({ uid }) => !out.has(uid));
  const come = command.nodesIn.map((node) => nodeOf(node, snapshot, uidOf(command, node.bin.id)));
  return { ...snapshot, nodes: [...stay, ...come].map(joined) };
}

const uidOf = ({ name }: Command, binId: string): string => `${name}-${binId}`;

const boundTo = (pod: Pod, nodeName: string): Pod => ({ ...pod, nodeName, phase: 'Running' });

/** The node of a bin, as its cheapest option. */
function nodeOf({ bin }: NodeIn, { pools }: Snapshot, uid: string): ExistingNode {
  const key = poolKey(bin.pool);
  const option = present(bin.options[0], 'a bin has an option');
  const type = pools
    .find(({ pool }) => poolKey(pool.identity) === key)
    ?.instanceTypes.find(({ name }) => name === option.instanceType);
  const { capacity, allocatable } = present(type, 'an option is a type of its pool');
  return {
    name: uid,
    uid,
    poolKey: key,
    state: 'ready',
    labels: {
      ...bin.labels,
      [labels.instanceType]: option.instanceType,
      [labels.zone]: option.zone,
      [labels.capacityType]: option.capacityType,
      'kubernetes.io/hostname': uid,
    },
    requirements: new Map(),
    taints: bin.taints,
    cordoned: true,
    capacity,
    allocatable,
    instanceType: option.instanceType,
    priceMicrosPerHour: option.priceMicrosPerHour,
    pods: [],
    promisedPods: [],
    reserved: {},
  };
}
