import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import { annotations } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { systemClock } from '@dovetail/runtime';
import { expect } from 'vitest';

import { claims, events, nodes } from './cluster.js';
import { eventually, type TestWorld } from './world.js';

/** Who bound each pod where, and changes that may happen to nodes meanwhile. */

/** UIDs of the pods that kube-scheduler has bound. It alone writes an Event for each. */
export const boundByScheduler = async (at: TestWorld): Promise<ReadonlySet<string>> =>
  new Set(
    (await events(at))
      .filter((event) => event.reason === 'Scheduled')
      .map((event) => (event.involvedObject as { readonly uid?: string } | undefined)?.uid ?? ''),
  );

/** The claim or node on which each pod was planned last, by pod UID. */
export function latestHolders(at: TestWorld): ReadonlyMap<string, string> {
  const holders = new Map<string, string>();
  for (const { objects } of at.decisions.of('admit')) {
    const holder = objects.find(({ kind }) => kind !== 'Pod')?.name ?? '';
    for (const { kind, uid } of objects)
      if (kind === 'Pod' && uid !== undefined) holders.set(uid, holder);
  }
  return holders;
}

/** The node of each claim that has one, by the claim's name. */
export const nodesOfClaims = async (at: TestWorld): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (await claims(at)).map((claim) => [
      claim.metadata.name,
      (claim['status'] as { nodeName?: string } | undefined)?.nodeName ?? '',
    ]),
  );

/** The node on which each pod was planned last, by pod UID; '' if it is gone or has not joined. */
export async function latestNodes(at: TestWorld): Promise<ReadonlyMap<string, string>> {
  const nodeOf = await nodesOfClaims(at);
  const alive = new Set((await nodes(at)).map((node) => node.metadata.name));
  return new Map(
    [...latestHolders(at)].map(([uid, holder]) => [
      uid,
      nodeOf.get(holder) ?? (alive.has(holder) ? holder : ''),
    ]),
  );
}

const isClosed = (node: KubeObject): boolean =>
  node.metadata.annotations?.[annotations.placementCordon] !== undefined;

/**
 * Waits for claims whose nodes have joined and admit only the planned pods. Returns their names.
 */
export const untilClosed = (at: TestWorld, count: number): Promise<readonly string[]> =>
  eventually(`${count} nodes that are kept for their pods`, async () => {
    const closed = new Set((await nodes(at)).filter(isClosed).map((node) => node.metadata.name));
    const kept = [...(await nodesOfClaims(at))]
      .filter(([, node]) => closed.has(node))
      .map(([claim]) => claim);
    return kept.length >= count && kept;
  });

/** Binds a pod by hand, as another scheduler or a person would. */
export const bindByHand = (at: TestWorld, pod: KubeObject, nodeName: string): Promise<void> =>
  at.kube.bind(
    {
      namespace: pod.metadata.namespace ?? '',
      name: pod.metadata.name,
      uid: pod.metadata.uid ?? '',
    },
    nodeName,
  );

/** Writes the report of a pod's own scheduler that finds no node. */
export const markUnschedulable = async (at: TestWorld, pod: KubeObject): Promise<unknown> => {
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: 'no node',
    lastTransitionTime: new Date().toISOString(),
  };
  return at.kube.patch(
    {
      resource: kubeResources.pods,
      namespace: pod.metadata.namespace ?? '',
      name: pod.metadata.name,
    },
    { type: 'merge', body: { status: { conditions: [condition] } } },
    { subresource: 'status' },
  );
};

/** Ends the claim's instance behind the services' back, as a person in the EC2 console would. */
export async function endInstance(at: TestWorld, claimName: string): Promise<void> {
  const claim = await eventually(`an instance of ${claimName}`, async () => {
    const found = await at.kube.get({ resource: kubeResources.nodeClaims, name: claimName });
    return (
      (found?.['status'] as { providerID?: string } | undefined)?.providerID !== undefined && found
    );
  });
  const { providerID = '' } = claim['status'] as { readonly providerID?: string };
  const cloud = createAwsCloud({
    region: at.lab.options.region,
    endpoint: at.lab.cloudUrl,
    credentials: { accessKeyId: 'somebody', secretAccessKey: 'else' },
    clock: systemClock,
  });
  try {
    const id = providerID.split('/').at(-1) ?? '';
    // EC2 shows a fresh instance only after a moment. Until then it counts as ended.
    await eventually(`EC2 to show ${id}`, async () => (await cloud.instancesById([id])).length > 0);
    expect(await cloud.terminate([id])).toEqual([]);
  } finally {
    cloud.close();
  }
}
