import type { Pool } from '@dovetail/core-api';
import { type InstanceType, typesWithPoolKubelet } from '@dovetail/core-ec2-model';
import type { PoolOptions, Snapshot } from '@dovetail/core-scheduling';
import { existingNodes } from './existing-nodes.js';
import { type Mirror, offeringKey } from './mirror.js';

export type SnapshotChoices = {
  /** Nodes (by name) or claims to leave out, as if they were gone. */
  readonly without: ReadonlySet<string>;
  /** Pods that are being planned: where they are bound now, they take no room. */
  readonly moving: ReadonlySet<string>;
  /** Offerings that cost this or more are left out. */
  readonly priceBelowMicrosPerHour?: number;
  readonly nowMs: number;
};

/** Everything that planning reads, from the mirror as it stands. */
export function snapshotOf(mirror: Mirror, choices: SnapshotChoices): Snapshot {
  return {
    stateSequence: mirror.position.sequence,
    catalogRevision: mirror.catalogRevision(),
    admissionHead: `${mirror.admission.epoch}.${mirror.admission.number}`,
    pools: byUid(mirror.pools).map((pool) => poolOptions(mirror, pool, choices)),
    nodes: existingNodes(mirror, choices),
    daemonSets: byUid(mirror.daemonSets),
    namespaces: byUid(mirror.namespaces),
    persistentVolumes: byUid(mirror.persistentVolumes),
    persistentVolumeClaims: byUid(mirror.persistentVolumeClaims),
    storageClasses: byUid(mirror.storageClasses),
    csiNodes: byUid(mirror.csiNodes),
  };
}

/** In the order of UIDs: messages arrive in different orders at different solvers, and no order may show in a plan. */
const byUid = <T>(values: ReadonlyMap<string, T>): readonly T[] =>
  [...values].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, value]) => value);

function poolOptions(mirror: Mirror, pool: Pool, choices: SnapshotChoices): PoolOptions {
  const nodeClass = [...mirror.classes.values()].find((each) => each.ref.kind === pool.classRef.kind && each.ref.name === pool.classRef.name && each.deletionMs === undefined);
  const types = nodeClass === undefined ? [] : typesWithPoolKubelet(mirror.catalogOf(nodeClass.uid)?.types ?? [], nodeClass, pool.kubelet);
  // The launcher tells what a class can boot only while the class is usable; legacy classes have no other sign of it.
  const usable = types.length > 0 ? pool : { ...pool, ready: false };
  return { pool: usable, instanceTypes: types.map((type) => withAvailability(mirror, type, choices)) };
}

function withAvailability(mirror: Mirror, type: InstanceType, choices: SnapshotChoices): InstanceType {
  const below = choices.priceBelowMicrosPerHour ?? Number.POSITIVE_INFINITY;
  const out = (offering: InstanceType['offerings'][number]): boolean =>
    (mirror.unavailable.get(offeringKey({ ...offering, instanceType: type.name }))?.untilMs ?? 0) > choices.nowMs || offering.priceMicrosPerHour >= below;
  if (!type.offerings.some((offering) => offering.available && out(offering))) return type;
  return { ...type, offerings: type.offerings.map((offering) => (out(offering) ? { ...offering, available: false } : offering)) };
}
