import { annotations, taints } from '@dovetail/core-api';
import { type KubeApi, type KubeObject, kubeResources, type Patch } from '@dovetail/core-ports';

import type { Host, Ports, Sabotage, ServiceName } from '../services.js';
import { isCopy } from '../user-commands.js';
import {
  claimsOn,
  instanceOfNode,
  isDeleted,
  namedInstance,
  nodesOn,
  retirementOf,
} from './facts.js';

type Change = { readonly cloud?: object; readonly kube?: object; readonly queue?: object };
type Spoil = (ports: Ports, host: Host) => Change;
type PatchCall = Parameters<KubeApi['patch']>;

/** The ports of one service with some calls changed. */
const spoilt =
  (service: ServiceName, change: Spoil): Sabotage =>
  (name, ports, host) => {
    if (name !== service) return ports;
    const { cloud = {}, kube = {}, queue = {} } = change(ports, host);
    return {
      ...ports,
      cloud: { ...ports.cloud, ...cloud },
      kube: { ...ports.kube, ...kube },
      queue: { ...ports.queue, ...queue },
    };
  };

const { leases, nodeClaims, nodes, pods, volumeAttachments } = kubeResources;

/** The retirement that a patch writes; undefined if it writes none. */
function retirementIn({ body }: Patch): string | undefined {
  const { metadata } = body as { readonly metadata?: { readonly annotations?: object } };
  const text = (metadata?.annotations as Record<string, unknown> | undefined)?.[
    annotations.retirement
  ];
  return typeof text === 'string' ? text : undefined;
}

/** Does something more after each patch of a node that writes a retirement. */
const afterRetirement =
  (
    more: (given: { ports: Ports; host: Host; name: string; text: string }) => Promise<void>,
  ): Spoil =>
  (ports, host) => ({
    kube: {
      async patch(...call: PatchCall) {
        const written = await ports.kube.patch(...call);
        const [{ resource, name }, patch] = call;
        const text = resource.plural === nodes.plural ? retirementIn(patch) : undefined;
        if (text !== undefined) await more({ ports, host, name, text });
        return written;
      },
    },
  });

/** Deletes the claim of a node, as the end of a retirement does. */
async function endNow(ports: Ports, { stage }: Host, nodeName: string): Promise<void> {
  const node = nodesOn(stage).find(({ metadata }) => metadata.name === nodeName);
  const claim = claimsOn(stage).find(
    (each) => node !== undefined && namedInstance(each) === instanceOfNode(node),
  );
  if (claim !== undefined)
    await ports.kube.delete({ resource: nodeClaims, name: claim.metadata.name });
}

const taintOf = (node: KubeObject): readonly object[] =>
  ((node['spec'] ?? {}) as { readonly taints?: readonly object[] }).taints ?? [];

const launchedTwice = spoilt('launcher', ({ cloud }) => ({
  cloud: {
    async createFleet(request: Parameters<typeof cloud.createFleet>[0]) {
      const clientToken = `2-${request.clientToken}`.slice(0, 64);
      await cloud.createFleet({ ...request, clientToken });
      return cloud.createFleet(request);
    },
  },
}));

const endsAnother = spoilt('reaper', ({ cloud }) => ({
  cloud: {
    async terminate(ids: readonly string[]) {
      const all = await cloud.instancesByTag([]);
      const other = all.find(({ id, state }) => state === 'running' && !ids.includes(id));
      return cloud.terminate(other === undefined ? ids : [...ids, other.id]);
    },
  },
}));

const deletesPods = spoilt('reaper', ({ kube }) => ({
  kube: {
    async evict({ namespace, name }: { namespace: string; name: string }) {
      await kube.delete({ resource: pods, namespace, name });
      return 'evicted';
    },
  },
}));

const endsNothing = spoilt('reaper', ({ cloud }) => ({
  cloud: {
    // Says that every instance is gone already.
    instancesById: () => Promise.resolve([]),
    terminate: () => Promise.resolve([]),
    instancesByTag: () => cloud.instancesByTag([]).then(() => []),
  },
}));

/** Instances whose end is announced in an EventBridge message. */
const instancesIn = (body: string): string => /i-[0-9a-f]+/.exec(body)?.[0] ?? '';

const losesSecondNotice = spoilt('reaper', ({ queue }, { stage }) => ({
  queue: {
    async receive(stop: Parameters<typeof queue.receive>[0]) {
      const messages = await queue.receive(stop);
      const isRetiring = (body: string): boolean => {
        const node = nodesOn(stage).find((each) => instanceOfNode(each) === instancesIn(body));
        return node !== undefined && (isDeleted(node) || retirementOf(node) !== undefined);
      };
      const lost = messages.filter(({ body }) => isRetiring(body));
      if (lost.length > 0) await queue.delete(lost.map(({ receipt }) => receipt));
      return messages.filter(({ body }) => !isRetiring(body));
    },
  },
}));

const endsWithoutRoom = spoilt(
  'reaper',
  afterRetirement(async ({ ports, host, name, text }) => {
    if (/"expired"|"drifted"/.test(text)) await endNow(ports, host, name);
  }),
);

const collectsUntagged = spoilt('reaper', ({ cloud, kube }, { stage }) => ({
  cloud: {
    async instancesByTag(filters: Parameters<typeof cloud.instancesByTag>[0]) {
      const shown = await cloud.instancesByTag(filters);
      const ids = new Set(shown.map(({ id }) => id));
      for (const claim of claimsOn(stage)) {
        const id = namedInstance(claim);
        const isOld =
          stage.clock.nowMs() - Date.parse(claim.metadata.creationTimestamp ?? '') > 120_000;
        if (filters.length > 0 && id !== '' && isOld && !ids.has(id))
          await kube.delete({ resource: nodeClaims, name: claim.metadata.name });
      }
      return shown;
    },
  },
}));

const asksBeforeNotices = spoilt('reaper', ({ queue, cloud }) => ({
  queue: {
    async receive(stop: Parameters<typeof queue.receive>[0]) {
      const messages = await queue.receive(stop);
      const shown = await cloud
        .instancesById(messages.map(({ body }) => instancesIn(body)))
        .catch(() => []);
      const ids = new Set(shown.map(({ id }) => id));
      return messages.filter(({ body }) => ids.has(instancesIn(body)));
    },
  },
}));

const flaps = spoilt(
  'reaper',
  afterRetirement(async ({ ports, host, name, text }) => {
    if (/"expired"|"interrupted"/.test(text)) return;
    const node = nodesOn(host.stage).find(({ metadata }) => metadata.name === name);
    if (node === undefined) return;
    const left = taintOf(node).filter(
      (taint) => (taint as { readonly key: string }).key !== taints.disrupted.key,
    );
    const metadata = { annotations: { [annotations.retirement]: null } };
    const body = { metadata, spec: { taints: left } };
    await ports.kube.patch({ resource: nodes, name }, { type: 'merge', body });
  }),
);

const endsCopies = spoilt('reaper', ({ kube, cloud }, { stage }) => ({
  kube: {
    async patch(...call: PatchCall) {
      const [{ resource, name }] = call;
      const copy = claimsOn(stage).find(({ metadata }) => metadata.name === name);
      if (resource.plural === nodeClaims.plural && isCopy(name) && copy !== undefined)
        await cloud.terminate([namedInstance(copy)]);
      return kube.patch(...call);
    },
  },
}));

const seesNoVolumes = spoilt('reaper', ({ kube }) => ({
  kube: {
    list: (...call: Parameters<KubeApi['list']>) =>
      call[0].plural === volumeAttachments.plural ? Promise.resolve([]) : kube.list(...call),
    watch: (...call: Parameters<KubeApi['watch']>) =>
      call[0].resource.plural === volumeAttachments.plural
        ? kube.watch({ ...call[0], labelSelector: 'seen=never' }, call[1])
        : kube.watch(...call),
  },
}));

/** Longer than the Lease of a leader. */
const roundMs = 40_000;

const judgesForLong = spoilt('launcher', ({ kube }, { holdUp }) => {
  let round: string | undefined;
  return {
    kube: {
      async replace(...call: Parameters<KubeApi['replace']>) {
        const written = await kube.replace(...call);
        const [resource, { metadata }] = call;
        const said = metadata.annotations?.['dovetail.sh/round'];
        if (resource.plural !== leases.plural || said === round) return written;
        round = said;
        holdUp(roundMs);
        return written;
      },
    },
  };
});

/**
 * Mistakes that services of this field have made, this project's early reaper and launcher among
 * them, by what goes wrong.
 */
export const plantedBugs: Readonly<Record<string, Sabotage>> = {
  'a launch is sent twice, under another token': launchedTwice,
  'each end takes another instance with it': endsAnother,
  'a drain deletes pods where it should evict': deletesPods,
  'the reaper ends no instance and believes that none is left': endsNothing,
  'a notice is lost when its node is being retired already': losesSecondNotice,
  'nodes that expire or drift end without room for their pods': endsWithoutRoom,
  'a claim whose instance lacks its tags is collected': collectsUntagged,
  'a notice is obeyed only once EC2 has answered': asksBeforeNotices,
  'a retirement is given back as soon as it has begun, without a pause': flaps,
  'the end of a copied claim ends the instance of the original': endsCopies,
  'an instance is ended with volumes attached': seesNoVolumes,
  'a round of admission lasts longer than the Lease': judgesForLong,
};
