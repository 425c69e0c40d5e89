import { nodeClaimOf, poolKey } from '@dovetail/core-api';
import { Cluster, existingNodes, promisedRoom, type TypesByName } from '@dovetail/core-cluster';
import {
  csiNodeOf,
  daemonSetOf,
  type Namespace,
  namespaceOf,
  nodeOf,
  type Pod,
  pvcOf,
  pvOf,
  type Raw,
  storageClassOf,
  withAdmittedTemplate,
} from '@dovetail/core-kube-model';
import type { ExistingNode, PoolOptions } from '@dovetail/core-scheduling';

import { admissionObjectsOf } from './admission.js';
import { budgetOf } from './budgets.js';
import type { Catalog } from './catalog.js';
import type { Inventory } from './kinds.js';
import { claimWithOurClass } from './pools.js';
import { all } from './readable.js';

/**
 * Manifests have no time, so a promise counts as long as its annotation is there. The same
 * manifests then give the same plan at any time.
 */
const manifestsMs = 0;

/**
 * Namespaces carry their own name as a label, as in a cluster. A namespace that is only used
 * exists, too.
 */
function namespacesOf(given: readonly Namespace[], pods: readonly Pod[]): readonly Namespace[] {
  const named = new Map(given.map((one) => [one.name, one]));
  const used = [...new Set(pods.map((pod) => pod.namespace))].filter((name) => !named.has(name));
  const implied = used.map((name): Namespace => ({
    uid: `Namespace//${name}`,
    name,
    resourceVersion: '',
    labels: {},
  }));
  return [...named.values(), ...implied].map((one) => ({
    ...one,
    labels: { 'kubernetes.io/metadata.name': one.name, ...one.labels },
  }));
}

/** The cluster that the manifests describe. `asked` are the missing pods of its workloads. */
export async function clusterOf(
  inventory: Inventory,
  catalog: Catalog,
  pods: { readonly given: readonly Pod[]; readonly asked: readonly Pod[] },
): Promise<Cluster> {
  const cluster = new Cluster([]);
  for (const pod of pods.given) cluster.set('pod', pod);
  for (const node of await all(inventory, 'Node', nodeOf)) cluster.set('node', node);
  const readClaim = (raw: unknown): ReturnType<typeof nodeClaimOf> =>
    nodeClaimOf(catalog.kind === 'file' ? claimWithOurClass(raw as Raw) : raw);
  for (const claim of await all(inventory, 'NodeClaim', readClaim)) cluster.set('claim', claim);
  for (const budget of await all(inventory, 'PodDisruptionBudget', budgetOf))
    cluster.set('pdb', budget);
  const admission = admissionObjectsOf(inventory);
  const readDaemonSet = (raw: unknown): ReturnType<typeof daemonSetOf> =>
    daemonSetOf(withAdmittedTemplate(raw as Raw, admission));
  for (const one of await all(inventory, 'DaemonSet', readDaemonSet)) cluster.set('daemonset', one);
  for (const one of await all(inventory, 'PersistentVolume', pvOf)) cluster.set('pv', one);
  for (const one of await all(inventory, 'PersistentVolumeClaim', pvcOf)) cluster.set('pvc', one);
  for (const one of await all(inventory, 'StorageClass', storageClassOf))
    cluster.set('storageclass', one);
  for (const one of await all(inventory, 'CSINode', csiNodeOf)) cluster.set('csinode', one);
  const namespaces = await all(inventory, 'Namespace', namespaceOf);
  for (const one of namespacesOf(namespaces, [...pods.given, ...pods.asked]))
    cluster.set('namespace', one);
  return cluster;
}

const noTypes: TypesByName = new Map();

/**
 * The room of the cluster's nodes and claims. A claim may become any type that its pool can boot.
 * Pods whose UID is in `moving` take no room where they are.
 */
export function roomOf(
  cluster: Cluster,
  pools: readonly PoolOptions[],
  moving: ReadonlySet<string>,
): readonly ExistingNode[] {
  const types = new Map(
    pools.map(({ pool, instanceTypes }) => [
      poolKey(pool.identity),
      new Map(instanceTypes.map((type) => [type.name, type])),
    ]),
  );
  return existingNodes(cluster, {
    moving,
    typesOf: (claim) => types.get(poolKey(claim.pool)) ?? noTypes,
    promisedTo: (holderUid) => promisedRoom(cluster, holderUid, manifestsMs),
  });
}
