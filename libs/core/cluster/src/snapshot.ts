import { compareText } from '@dovetail/core-kube-model';
import type { ExistingNode, Snapshot } from '@dovetail/core-scheduling';

import { type CatalogView, typesOfClaim, typesOfPool } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { existingNodes } from './existing-nodes.js';
import { promisedRoom } from './promises.js';
import type { Stored, Table } from './table.js';

/**
 * In order of UID: watches and feeds deliver in different orders, and no order may show in a plan.
 */
export const byUid = <T extends Stored>(table: Table<T, string>): readonly T[] =>
  [...table.values()].sort((a, b) => compareText(a.uid, b.uid));

/** The objects of a snapshot that are neither pools nor nodes. */
export const snapshotObjects = (
  cluster: Cluster,
): Pick<
  Snapshot,
  | 'daemonSets'
  | 'namespaces'
  | 'persistentVolumes'
  | 'persistentVolumeClaims'
  | 'storageClasses'
  | 'csiNodes'
> => ({
  daemonSets: byUid(cluster.daemonSets),
  namespaces: byUid(cluster.namespaces),
  persistentVolumes: byUid(cluster.persistentVolumes),
  persistentVolumeClaims: byUid(cluster.persistentVolumeClaims),
  storageClasses: byUid(cluster.storageClasses),
  csiNodes: byUid(cluster.csiNodes),
});

/** Everything that the checker reads but the nodes, for a user who keeps a list of nodes itself. */
export const snapshotWithoutNodes = (cluster: Cluster, catalog: CatalogView): Snapshot => ({
  stateSequence: 0,
  catalogRevision: catalog.revision,
  admissionHead: '',
  pools: byUid(cluster.pools).map((pool) => ({
    pool,
    instanceTypes: [...typesOfPool(catalog, pool).values()],
  })),
  nodes: [],
  ...snapshotObjects(cluster),
});

/** The nodes of a cluster whose promises stand in its own annotations, as they are at `nowMs`. */
export const nodesNow = (
  cluster: Cluster,
  catalog: CatalogView,
  nowMs: number,
): readonly ExistingNode[] =>
  existingNodes(cluster, {
    typesOf: (claim) => typesOfClaim(catalog, cluster, claim),
    promisedTo: (holderUid) => promisedRoom(cluster, holderUid, nowMs),
  });

/** Everything that the independent checker reads, as it is at `nowMs`. */
export const snapshotOf = (cluster: Cluster, catalog: CatalogView, nowMs: number): Snapshot => ({
  ...snapshotWithoutNodes(cluster, catalog),
  nodes: nodesNow(cluster, catalog, nowMs),
});
