import { annotations, labels } from '@dovetail/core-api';
import { type KubeObject, kubeResources, messageOf } from '@dovetail/core-ports';

import { eventually, type TestWorld } from './world.js';

/** Reads of the cluster that scenarios share. */

type PodLike = KubeObject & {
  spec: { nodeName?: string };
  status?: { phase?: string; conditions?: { type: string; status: string; reason?: string }[] };
};
type NodeLike = KubeObject & {
  spec?: {
    providerID?: string;
    taints?: { key: string; value?: string; effect: string }[];
    unschedulable?: boolean;
  };
  status?: {
    conditions?: { type: string; status: string }[];
    nodeInfo?: { kubeletVersion?: string };
  };
};

export const pods = async (world: TestWorld, namespace: string): Promise<readonly PodLike[]> =>
  (await world.list(kubeResources.pods, { namespace })) as readonly PodLike[];
export const nodes = async (world: TestWorld): Promise<readonly NodeLike[]> =>
  await world.list(kubeResources.nodes);
export const claims = (world: TestWorld): Promise<readonly KubeObject[]> =>
  world.list(kubeResources.nodeClaims);

/** Nodes that Dovetail launched, by either label. */
export const ourNodes = async (world: TestWorld): Promise<readonly NodeLike[]> =>
  (await nodes(world)).filter(
    (node) =>
      labelOf(node, labels.nodePool) !== undefined ||
      labelOf(node, labels.provisioner) !== undefined,
  );

export const labelOf = (object: KubeObject, key: string): string | undefined =>
  object.metadata.labels?.[key];

export const runningPods = async (
  world: TestWorld,
  namespace: string,
): Promise<readonly PodLike[]> =>
  (await pods(world, namespace)).filter(
    (pod) => pod.status?.phase === 'Running' && pod.metadata.deletionTimestamp === undefined,
  );

/**
 * The state of pods that do not run: the scheduler's report, the decisions about them, and their
 * promises.
 */
async function whyWaiting(world: TestWorld, namespace: string): Promise<string> {
  const holders = [...(await claims(world)), ...(await nodes(world))].map(({ metadata }) => ({
    name: metadata.name,
    text: metadata.annotations?.[annotations.promise] ?? '',
  }));
  const waiting = (await pods(world, namespace))
    .filter((pod) => pod.status?.phase !== 'Running')
    .slice(0, 5);
  return waiting
    .map((pod) =>
      [
        `${pod.metadata.name} (${pod.metadata.uid ?? ''}): ${JSON.stringify({ nodeName: pod.spec.nodeName, status: pod.status })}`,
        ...holders
          .filter(({ text }) => text.includes(pod.metadata.uid ?? '-'))
          .map(({ name, text }) => `  promised by ${name}: ${text}`),
        ...world.decisions.all
          .filter(({ objects }) => objects.some(({ uid }) => uid === pod.metadata.uid))
          .map(
            ({ kind, atMs, summary }) => `  ${new Date(atMs).toISOString()} ${kind}: ${summary}`,
          ),
      ].join('\n'),
    )
    .join('\n');
}

/**
 * Waits until exactly this many pods of the namespace run, and returns them. A failure describes
 * the others.
 */
export const untilRunning = (
  world: TestWorld,
  namespace: string,
  count: number,
  deadlineMs = 60_000,
): Promise<readonly PodLike[]> =>
  eventually(
    `${count} running pods in ${namespace}`,
    async () => {
      const running = await runningPods(world, namespace);
      return running.length === count ? running : undefined;
    },
    deadlineMs,
  ).catch(async (error: unknown) => {
    throw new Error(`${messageOf(error)}\n${await whyWaiting(world, namespace)}`, { cause: error });
  });

/** Waits until no node, claim and instance of ours is left. */
export async function untilNothingLeft(world: TestWorld, deadlineMs = 90_000): Promise<void> {
  await eventually('no node of ours', async () => (await ourNodes(world)).length === 0, deadlineMs);
  await eventually('no claim', async () => (await claims(world)).length === 0, deadlineMs);
  await eventually('no instance', async () => (await instances(world)).length === 0, deadlineMs);
}

export type TwinInstance = {
  readonly instanceId: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly state: string;
  readonly capacityType: string;
  readonly imageId: string;
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
  readonly kubernetesVersion?: string;
  readonly privateDnsName: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly userData?: string;
};

/** Instances that live, according to the cloud twin. */
export const instances = async (world: TestWorld): Promise<readonly TwinInstance[]> =>
  (await world.cloud<readonly TwinInstance[]>('GET', 'instances')).filter(
    (instance) => instance.state !== 'terminated' && instance.state !== 'shutting-down',
  );

/** A fleet request as EC2 got it. */
export type FleetRequested = {
  readonly fleetId: string;
  readonly configs: readonly {
    readonly launchTemplateName: string;
    readonly overrides: readonly { readonly instanceType: string; readonly zone?: string }[];
  }[];
};

/** Every fleet request that EC2 carried out, in order. */
export const fleetsRequested = (world: TestWorld): Promise<readonly FleetRequested[]> =>
  world.cloud<readonly FleetRequested[]>('GET', 'fleets');

/** Makes a node that exists already and belongs to no pool: ready, with room. */
export async function addForeignNode(
  world: TestWorld,
  node: {
    name: string;
    labels: Readonly<Record<string, string>>;
    taints?: readonly { key: string; value?: string; effect: string }[];
  },
): Promise<void> {
  await world.kube.create(kubeResources.nodes, {
    metadata: {
      name: node.name,
      labels: {
        'kubernetes.io/hostname': node.name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        ...node.labels,
      },
    },
    spec: { taints: node.taints ?? [] },
  });
  const amounts = { cpu: '2', memory: '8Gi', pods: '29' };
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: new Date().toISOString(),
    lastTransitionTime: new Date().toISOString(),
  };
  await world.kube.patch(
    { resource: kubeResources.nodes, name: node.name },
    {
      type: 'merge',
      body: { status: { capacity: amounts, allocatable: amounts, conditions: [condition] } },
    },
    { subresource: 'status' },
  );
}

export const events = async (
  world: TestWorld,
): Promise<
  readonly (KubeObject & {
    reason?: string;
    message?: string;
    type?: string;
    involvedObject?: { kind?: string; name?: string; uid?: string };
    source?: { component?: string };
  })[]
> => world.list(kubeResources.events);
