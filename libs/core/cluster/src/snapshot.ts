import type { Pool } from '@dovetail/core-api';
import { compareText } from '@dovetail/core-kube-model';
import type { ExistingNode, PoolOptions, Snapshot } from '@dovetail/core-scheduling';

import { type CatalogView, type TypesByName, typesOfClaim, typesOfPool } from './catalog-view.js';
import type { Cluster } from './cluster.js';
import { liveDaemonSets } from './daemon-sets.js';
import { existingNodes } from './existing-nodes.js';
import { promisedRoom } from './promises.js';
import type { Stored, Table } from './table.js';

/**
 * In order of UID: watches and feeds deliver in different orders, and no order may show in a plan.
 */
export function byUid<T extends Stored>(
  table: Pick<Table<T>, 'values' | 'revision'>,
): readonly T[] {
  const held = sorted.get(table);
  if (held?.revision === table.revision) return held.rows as readonly T[];
  const rows = [...table.values()].sort((a, b) => compareText(a.uid, b.uid));
  sorted.set(table, { revision: table.revision, rows });
  return rows;
}

// A table that has not changed gives the same list, so that what follows from it can be kept too.
const sorted = new WeakMap<
  object,
  { readonly revision: number; readonly rows: readonly Stored[] }
>();

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
  daemonSets: liveDaemonSets(cluster),
  namespaces: byUid(cluster.namespaces),
  persistentVolumes: byUid(cluster.persistentVolumes),
  persistentVolumeClaims: byUid(cluster.persistentVolumeClaims),
  storageClasses: byUid(cluster.storageClasses),
  csiNodes: byUid(cluster.csiNodes),
});

const options = new WeakMap<TypesByName, WeakMap<Pool, PoolOptions>>();
/** A pool with its types: the same value for the same two. */
function poolOptions(pool: Pool, types: TypesByName): PoolOptions {
  const known = options.get(types) ?? new WeakMap<Pool, PoolOptions>();
  options.set(types, known);
  const made = known.get(pool) ?? { pool, instanceTypes: [...types.values()] };
  known.set(pool, made);
  return made;
}

/** Everything that the checker reads but the nodes, for a user who keeps a list of nodes itself. */
export const snapshotWithoutNodes = (cluster: Cluster, catalog: CatalogView): Snapshot => ({
  stateSequence: 0,
  catalogRevision: catalog.revision,
  admissionHead: '',
  pools: byUid(cluster.pools).map((pool) => poolOptions(pool, typesOfPool(catalog, pool))),
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
