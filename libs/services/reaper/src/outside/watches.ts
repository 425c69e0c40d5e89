import { nodePoolOf, provisionerOf } from '@dovetail/core-api';
import type { ClusterValue } from '@dovetail/core-cluster';
import { endingClaimOf, type UnhealthyCondition } from '@dovetail/core-disruption';
import {
  EqualParts,
  isBound,
  nodeOf,
  type Parsed,
  pdbOf,
  podOf,
  volumeAttachmentOf,
} from '@dovetail/core-kube-model';
import {
  type KubeObject,
  type KubeResource,
  kubeResources,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';
import { UnreadableObjects, type WatchDeps, watchServed } from '@dovetail/service-kit';

import type { ReaperCluster, ReaperKind } from '../cluster/reaper-cluster.js';

type Source<K extends ReaperKind> = {
  readonly kind: K;
  readonly resource: KubeResource;
  readonly read: (object: KubeObject) => Parsed<ClusterValue[K]>;
  /** A legacy API that a cluster need not serve. */
  readonly optional: boolean;
};

/** An object as the watch has shown it, and what it says. */
type Seen<K extends ReaperKind> = {
  readonly metadata: KubeObject['metadata'];
  readonly parsed: Parsed<ClusterValue[K]>;
  /** Of a node that is unhealthy. */
  readonly condition?: UnhealthyCondition;
};

const source = <K extends ReaperKind>(
  kind: K,
  resource: KubeResource,
  read: Source<K>['read'],
): Source<K> => ({ kind, resource, read, optional: false });

/** Pools come from two APIs; the older one need not be served. */
const poolSources: readonly Source<'pool'>[] = [
  source('pool', kubeResources.nodePools, nodePoolOf),
  { ...source('pool', kubeResources.provisioners, provisionerOf), optional: true },
];

/** Keeps the mirror equal to the cluster until stopped. */
export async function watchCluster(
  deps: WatchDeps,
  cluster: ReaperCluster,
  stop: StopSignal,
): Promise<void> {
  const unreadable = new UnreadableObjects(deps);
  const watch = <K extends ReaperKind>(from: Source<K>, synced: () => void): Promise<void> => {
    const project = (object: KubeObject): Seen<K> => {
      const seen = { metadata: object.metadata, parsed: from.read(object) };
      const condition = from.kind === 'node' ? cluster.unhealthy.read(object) : undefined;
      return condition === undefined ? seen : { ...seen, condition };
    };
    return watchServed(
      deps,
      { resource: from.resource, project, optional: from.optional },
      {
        event: (event) =>
          event.kind === 'synced' ? synced() : take(cluster, unreadable, from, event),
        absent: synced,
      },
      stop,
    );
  };
  const alone = <K extends ReaperKind>(from: Source<K>): Promise<void> =>
    watch(from, () => cluster.markSynced(from.kind));
  const unlisted = new Set(poolSources);
  const poolsSynced = (from: Source<'pool'>): void => {
    unlisted.delete(from);
    if (unlisted.size === 0) cluster.markSynced('pool');
  };
  const equalParts = new EqualParts();
  await Promise.all([
    alone(source('pod', kubeResources.pods, equalParts.reading(podOf, isBound))),
    alone(source('node', kubeResources.nodes, equalParts.reading(nodeOf))),
    alone(source('claim', kubeResources.nodeClaims, equalParts.reading(endingClaimOf))),
    alone(source('pdb', kubeResources.podDisruptionBudgets, pdbOf)),
    alone(source('attachment', kubeResources.volumeAttachments, volumeAttachmentOf)),
    ...poolSources.map((from) => watch(from, () => poolsSynced(from))),
  ]);
}

/** An object that cannot be read stays as it was known last: it is still there. */
function take<K extends ReaperKind>(
  cluster: ReaperCluster,
  unreadable: UnreadableObjects,
  { kind, resource }: Source<K>,
  event: Exclude<WatchEvent<Seen<K>>, { readonly kind: 'synced' }>,
): void {
  if (event.kind === 'restored') return cluster.forgetVersions(kind);
  if (event.kind === 'gone') {
    cluster.noteUnreadablePool(event.uid, undefined);
    if (kind === 'node') cluster.unhealthy.note(event.uid, undefined);
    unreadable.forget(event.uid);
    cluster.delete(kind, event.uid);
    return;
  }
  const { metadata, parsed, condition } = event.value;
  const { name, uid = '' } = metadata;
  if (kind === 'node') cluster.unhealthy.note(uid, condition);
  const isUnreadablePool =
    !parsed.ok && kind === 'pool' && metadata.deletionTimestamp === undefined;
  cluster.noteUnreadablePool(uid, isUnreadablePool ? `${resource.kind}/${name}` : undefined);
  if (!parsed.ok) {
    unreadable.report({ kind: resource.kind, name, uid }, parsed);
    return;
  }
  unreadable.forget(uid);
  cluster.set(kind, parsed.value);
}
