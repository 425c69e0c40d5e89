import { ec2NodeClassOf, nodeClaimOf, nodePoolOf } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import { EqualParts, isBound, nodeOf, type Parsed, podOf } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject } from '@dovetail/sim-stage';

import { claimManifest, type ClusterSize, nodeManifest, podManifest } from './manifests.js';
import type { Measure } from './measure.js';

const made = (object: KubeObject, uid: string): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    uid,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
});

/** The pool and the class of the nodes. */
export const poolManifest = (): KubeObject => {
  const pool = made(nodePoolObject(), 'pool-1');
  return { ...pool, metadata: { ...pool.metadata, name: 'default' } };
};
export const classManifest = (): KubeObject => made(nodeClassObject('default', {}), 'class-1');

/** The value that a projection read. Throws an Error if it could not read the object. */
export function valueOf<T>(read: Parsed<T>): T {
  if (read.ok) return read.value;
  throw new Error(`${read.field}: ${read.value}`);
}

/** Fills a mirror with nodes, claims and bound pods, and measures what they take. */
export function fill(cluster: Cluster, size: ClusterSize, measure: Measure): void {
  const parts = new EqualParts();
  const pod = parts.reading(podOf, isBound);
  const node = parts.reading(nodeOf);
  const claim = parts.reading(nodeClaimOf);
  const pods = size.nodes * size.podsPerNode;
  for (let index = 0; index < pods; index += 1) {
    const raw = podManifest(index, Math.floor(index / size.podsPerNode));
    cluster.set('pod', valueOf(pod(raw)));
  }
  measure.grew('pods', pods);
  for (let index = 0; index < size.nodes; index += 1)
    cluster.set('node', valueOf(node(nodeManifest(index))));
  measure.grew('nodes', size.nodes);
  for (let index = 0; index < size.nodes; index += 1)
    cluster.set('claim', valueOf(claim(claimManifest(index, size))));
  measure.grew('claims', size.nodes);
  cluster.set('pool', { ...valueOf(nodePoolOf(poolManifest())), ready: true });
  cluster.set('nodeclass', valueOf(ec2NodeClassOf(classManifest())));
}
