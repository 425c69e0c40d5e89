import { batchesLag } from '@dovetail/contracts';
import { type KubeReads, kubeResources, messageOf } from '@dovetail/core-ports';

import { clusterOf } from '../cluster/access.js';
import { labAddress } from '../lab/addresses.js';
import { withReader } from '../nats/bus-reader.js';
import type { BusRequest } from '../nats/connection.js';
import { readDecisions } from '../nats/read-decisions.js';
import type { Streams } from '../simulate/run.js';
import { type ClusterObjects, clusterStatus } from './cluster-status.js';
import { Decided, decidedKinds } from './decided.js';
import { statusExitCodes, type StatusRequest } from './request.js';
import type { Status } from './status.js';
import { statusText } from './text.js';

/**
 * Reads a cluster once, and prints its status. It writes nothing. Resolves to the exit code: a
 * status without the decisions that were asked for is printed, and is a failure.
 */
export async function runStatus(request: StatusRequest, output: Streams): Promise<number> {
  let name = 'the cluster';
  try {
    const cluster = clusterOf(request);
    const { kube, isLab } = cluster;
    name = cluster.name;
    output.progress('reading the cluster…');
    const objects = await objectsOf(kube, request.namespace);
    output.progress('reading the decisions…');
    const bus = busFor(request, isLab);
    const status = await withDecisions(clusterStatus(objects, cluster.nowMs()), bus);
    output.progress('');
    output.out(
      request.output === 'json'
        ? `${JSON.stringify(status, undefined, 2)}\n`
        : statusText(status, request.width === undefined ? {} : { width: request.width }),
    );
    return bus === undefined || status.decisionsUnread === undefined
      ? statusExitCodes.done
      : statusExitCodes.unavailable;
  } catch (error) {
    output.progress('');
    output.err(
      `${name} cannot be read (${messageOf(error)}): check --kubeconfig or KUBECONFIG, and the right to list nodes, pods, NodeClaims, NodePools and Leases\n`,
    );
    return statusExitCodes.unavailable;
  }
}

/** The bus to read. Undefined: none is named, and the cluster is no lab of this folder. */
function busFor({ bus }: StatusRequest, isLab: boolean): BusRequest | undefined {
  const nats = bus.nats ?? (isLab ? labAddress('nats') : undefined);
  return nats === undefined ? undefined : { ...bus, nats };
}

async function withDecisions(status: Status, bus: BusRequest | undefined): Promise<Status> {
  if (bus === undefined)
    return {
      ...status,
      decisionsUnread: 'give the address of NATS with --nats or NATS_URL to see rounds and reasons',
    };
  const decided = new Decided(status.waiting);
  const decisionsUnread = await readDecisions(bus, {
    name: 'dovetail status',
    kinds: decidedKinds,
    take: (decision) => decided.take(decision),
  });
  return {
    ...decided.into(status, Date.parse(status.time)),
    ...(decisionsUnread === undefined ? await batchesOf(bus) : {}),
    ...(decisionsUnread === undefined ? {} : { decisionsUnread }),
  };
}

/** A user of NATS with the rights of an older release reads decisions, and is refused this. */
async function batchesOf(bus: BusRequest): Promise<Pick<Status, 'batches'>> {
  const lag = await withReader(bus, 'dovetail status', batchesLag);
  return lag.ok && lag.value !== undefined ? { batches: lag.value } : {};
}

async function objectsOf(kube: KubeReads, namespace: string | undefined): Promise<ClusterObjects> {
  const [leases, claims, nodes, pods, pools] = await Promise.all([
    kube.list(kubeResources.leases, namespace === undefined ? {} : { namespace }),
    kube.list(kubeResources.nodeClaims),
    kube.list(kubeResources.nodes),
    kube.list(kubeResources.pods),
    kube.list(kubeResources.nodePools),
  ]);
  return { leases, claims, nodes, pods, pools };
}
