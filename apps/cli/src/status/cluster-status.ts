import { anotherProviderOf, type NodeClaim, nodeClaimOf, nodePriceOf } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import {
  compareText,
  type Node,
  nodeOf,
  type Pod,
  podOf,
  recordOf,
} from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';
import { untriedWords, withBinder } from '@dovetail/service-kit';

import {
  type Fill,
  type NodesStatus,
  type ServiceStatus,
  type Status,
  statusSchema,
  type WaitingPod,
} from './status.js';

/** The objects of a cluster that a status is made of, as the API server lists them. */
export type ClusterObjects = Readonly<
  Record<'leases' | 'claims' | 'nodes' | 'pods' | 'pools', readonly KubeObject[]>
>;

/**
 * The status of a cluster. Objects that cannot be read are left out, and so are NodePools and
 * NodeClaims of another provider, such as EKS Auto Mode: their nodes are not ours to count.
 */
export function clusterStatus(objects: ClusterObjects, nowMs: number): Status {
  const claims = read(objects.claims.filter(isOurs), nodeClaimOf);
  const cluster = {
    nodes: new Map(read(objects.nodes, nodeOf).map((node) => [node.name, node])),
    used: podsByNode(read(objects.pods, podOf)),
  };
  const byPool = new Map<string, NodeClaim[]>(
    objects.pools.filter(isOurs).map(({ metadata }) => [`NodePool/${metadata.name}`, []]),
  );
  for (const claim of claims) {
    const pool = `${claim.pool.kind}/${claim.pool.name}`;
    const held = byPool.get(pool);
    if (held === undefined) byPool.set(pool, [claim]);
    else held.push(claim);
  }
  return {
    schema: statusSchema,
    time: new Date(nowMs).toISOString(),
    services: objects.leases.flatMap((lease) => serviceOf(lease, nowMs) ?? []).sort(byName),
    pools: [...byPool]
      .sort(([a], [b]) => compareText(a, b))
      .map(([pool, held]) => ({ pool, ...nodesStatus(held, cluster) })),
    total: nodesStatus(claims, cluster),
    waiting: waitingPods(objects.pods, nowMs),
  };
}

const isOurs = (object: KubeObject): boolean => anotherProviderOf(object) === undefined;

function read<T>(
  objects: readonly KubeObject[],
  parse: (raw: KubeObject) => { readonly ok: true; readonly value: T } | { readonly ok: false },
): readonly T[] {
  return objects.flatMap((object) => {
    const one = parse(object);
    return one.ok ? [one.value] : [];
  });
}

const byName = (a: ServiceStatus, b: ServiceStatus): number =>
  compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`);

function serviceOf({ metadata, ...lease }: KubeObject, nowMs: number): ServiceStatus | undefined {
  if (!metadata.name.startsWith('dovetail-')) return undefined;
  const { holderIdentity, renewTime, leaseDurationSeconds } = recordOf(lease['spec']);
  const renewedMs = Date.parse(typeof renewTime === 'string' ? renewTime : '');
  const leader = typeof holderIdentity === 'string' ? holderIdentity : '';
  const lasts = typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds : 0;
  return {
    name: metadata.name.slice('dovetail-'.length),
    namespace: metadata.namespace ?? '',
    ...(leader === '' ? {} : { leader }),
    ...(Number.isNaN(renewedMs) ? {} : { renewedMsAgo: Math.max(0, nowMs - renewedMs) }),
    overdue: leader === '' || !(nowMs - renewedMs <= lasts * 1_000),
  };
}

/** The pods of each node. Pods that have ended request nothing, and are left out. */
function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const used = new Map<string, Pod[]>();
  for (const pod of pods) {
    const { nodeName, phase } = pod;
    if (nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') continue;
    const held = used.get(nodeName);
    if (held === undefined) used.set(nodeName, [pod]);
    else held.push(pod);
  }
  return used;
}

type Cluster = {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly used: ReadonlyMap<string, readonly Pod[]>;
};

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

function nodesStatus(claims: readonly NodeClaim[], { nodes, used }: Cluster): NodesStatus {
  const joined = claims.flatMap(({ nodeName }) => nodes.get(nodeName ?? '') ?? []);
  const prices = claims.map(nodePriceOf);
  const fillOf = (resource: string): Fill => ({
    requested: sum(
      joined.flatMap(({ name }) =>
        (used.get(name) ?? []).map(({ requests }) => lookUp(requests, resource) ?? 0),
      ),
    ),
    allocatable: sum(joined.map(({ allocatable }) => lookUp(allocatable, resource) ?? 0)),
  });
  const ending = claims.filter(({ deletionMs }) => deletionMs !== undefined);
  return {
    nodes: joined.length,
    readyNodes: joined.filter(({ ready }) => ready).length,
    launching: claims.filter(
      ({ nodeName, deletionMs }) => !nodes.has(nodeName ?? '') && deletionMs === undefined,
    ).length,
    ending: ending.length,
    cpu: fillOf('cpu'),
    memory: fillOf('memory'),
    priceMicrosPerHour: sum(prices.map((price) => price?.priceMicrosPerHour ?? 0)),
    priceEstimated: prices.some((price) => price?.priceEstimated === true),
    unpriced: prices.filter((price) => price === undefined).length,
  };
}

/** The pods without a node, the longest wait first. */
function waitingPods(objects: readonly KubeObject[], nowMs: number): readonly WaitingPod[] {
  return objects
    .flatMap((object) => {
      const one = podOf(object);
      if (!one.ok || !isWaiting(one.value)) return [];
      const { namespace, name, uid, createdMs, schedulerName: scheduler } = one.value;
      const waitingMs = Math.max(0, nowMs - createdMs);
      const why = whyOf(one.value, object);
      return [{ pod: `${namespace}/${name}`, uid, waitingMs, scheduler, why }];
    })
    .sort((a, b) => b.waitingMs - a.waitingMs || compareText(a.pod, b.pod));
}

const isWaiting = ({ phase, nodeName, deletionMs }: Pod): boolean =>
  phase === 'Pending' && nodeName === undefined && deletionMs === undefined;

function whyOf(pod: Pod, object: KubeObject): string {
  const { schedulingGates, nominatedNodeName, schedulerName } = pod;
  const left = (why: string): string => withBinder(why, schedulerName);
  if (schedulingGates.length > 0)
    return left(`held by scheduling gate ${schedulingGates.join(', ')}`);
  if (nominatedNodeName !== undefined) return left(`waits for pods to leave ${nominatedNodeName}`);
  const conditions = recordOf(object['status'])['conditions'];
  const said = (Array.isArray(conditions) ? conditions : [])
    .map(recordOf)
    .find(({ type }) => type === 'PodScheduled')?.['message'];
  if (typeof said !== 'string' || said === '') return untriedWords(schedulerName);
  const by = schedulerName === 'default-scheduler' ? 'kube-scheduler' : schedulerName;
  return left(`${by}: ${said}`);
}
