import { type KubeletConfiguration, type NodeClass, type Pool } from '@dovetail/core-api';
import {
  byUid,
  type CatalogView,
  snapshotObjects,
  type TypesByName,
  typesOfPool,
} from '@dovetail/core-cluster';
import { type InstanceType, typesWithPoolKubelet } from '@dovetail/core-ec2-model';
import type { PoolOptions, Snapshot } from '@dovetail/core-scheduling';

import { type NodeChoices, nodesOf, typesNow } from './kept-snapshot.js';
import type { Mirror } from './mirror.js';

/** How a snapshot differs from the mirror's present state. */
export type SnapshotChoices = NodeChoices & {
  /** Offerings that cost this much or more are left out. */
  readonly priceBelowMicrosPerHour?: number;
  readonly nowMs: number;
};

/** Everything that planning reads, from the mirror's present state. */
export function snapshotOf(mirror: Mirror, choices: SnapshotChoices): Snapshot {
  const { cluster, admission } = mirror;
  const catalog = catalogOf(mirror);
  return {
    stateSequence: mirror.position.sequence,
    catalogRevision: catalog.revision,
    admissionHead: `${admission.epoch}.${admission.number}`,
    pools: byUid(cluster.pools).map((pool) => poolOptions(mirror, catalog, pool, choices)),
    nodes: nodesOf(mirror, catalog, choices),
    ...snapshotObjects(cluster),
  };
}

/**
 * The same snapshot, with nodes that may take pods only by these names; absent: all may. Nodes that
 * are not open keep their pods, which the rules of pods that move count.
 */
export const opening = (snapshot: Snapshot, names?: ReadonlySet<string>): Snapshot =>
  names === undefined
    ? snapshot
    : {
        ...snapshot,
        nodes: snapshot.nodes.map((node) =>
          names.has(node.name) ? node : { ...node, cordoned: true },
        ),
      };

const none: TypesByName = new Map();
/** Stands for the settings of a pool that has none, as a key. */
const ofClass: KubeletConfiguration = {};

/** The types of one revision of a class, under the settings of each pool. */
const typesKnown = new WeakMap<
  NodeClass,
  {
    readonly types: readonly InstanceType[];
    readonly by: WeakMap<KubeletConfiguration, TypesByName>;
  }
>();

/**
 * The catalog as one snapshot sees it. The same class, revision and settings give the same types:
 * nodes that are kept between snapshots are made of them.
 */
function catalogOf(mirror: Mirror): CatalogView {
  return {
    revision: mirror.catalog.revision(),
    typesOf: (key, kubelet) => typesByName(mirror, classUnder(mirror, key), kubelet),
  };
}

/**
 * The class of that key that is not being deleted. A recreated class has two objects for a while.
 */
const classUnder = (mirror: Mirror, key: string): NodeClass | undefined =>
  mirror.cluster.nodeClasses.by('key', key).find((one) => one.deletionMs === undefined);

function typesByName(
  mirror: Mirror,
  nodeClass: NodeClass | undefined,
  kubelet: KubeletConfiguration | undefined,
): TypesByName {
  const types = nodeClass === undefined ? undefined : mirror.catalog.of(nodeClass.uid)?.types;
  if (nodeClass === undefined || types === undefined) return none;
  const held = typesKnown.get(nodeClass);
  const known =
    held?.types === types ? held : { types, by: new WeakMap<KubeletConfiguration, TypesByName>() };
  typesKnown.set(nodeClass, known);
  const made =
    known.by.get(kubelet ?? ofClass) ??
    new Map(typesWithPoolKubelet(types, nodeClass, kubelet).map((type) => [type.name, type]));
  known.by.set(kubelet ?? ofClass, made);
  return made;
}

function poolOptions(
  mirror: Mirror,
  catalog: CatalogView,
  pool: Pool,
  choices: SnapshotChoices,
): PoolOptions {
  const types = typesNow(mirror.catalog, typesOfPool(catalog, pool), choices.nowMs);
  // The launcher publishes a class's types only while the class is usable. Legacy classes have no
  // other sign of it.
  return {
    pool: types.length > 0 ? pool : { ...pool, ready: false },
    instanceTypes: types,
    ...(choices.priceBelowMicrosPerHour === undefined
      ? {}
      : { priceBelowMicrosPerHour: choices.priceBelowMicrosPerHour }),
  };
}
