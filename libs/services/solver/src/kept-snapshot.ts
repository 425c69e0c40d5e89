import { type CatalogView, type TypesByName, typesOfClaim } from '@dovetail/core-cluster';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { drained, type ExistingNode } from '@dovetail/core-scheduling';

import type { CatalogMirror } from './catalog-mirror.js';
import type { Mirror } from './mirror.js';

/** How the nodes of a snapshot differ from the mirror's present state. */
export type NodeChoices = {
  /** Nodes (by name) that are drained, and claims that no node comes for. */
  readonly without: ReadonlySet<string>;
  /**
   * UIDs of pods that are being planned. They take no room on the nodes where they are bound now.
   */
  readonly moving: ReadonlySet<string>;
};

type KeptNodes = { readonly changes: string; readonly nodes: readonly ExistingNode[] };
const nodesKept = new WeakMap<Mirror, KeptNodes>();

/**
 * The nodes of a mirror. As long as nothing changes they are kept, and a question costs no more
 * than its own nodes. Invariant: they equal those of `existingNodes`.
 */
export function nodesOf(
  mirror: Mirror,
  catalog: CatalogView,
  { without, moving }: NodeChoices,
): readonly ExistingNode[] {
  const { cluster } = mirror;
  const sources = {
    typesOf: (claim: Parameters<typeof typesOfClaim>[2] & { uid: string }) =>
      typesOfClaim(catalog, cluster, claim),
    promisedTo: (holderUid: string) => mirror.promisedTo(holderUid),
  };
  const changes = `${mirror.changes} ${mirror.catalog.changes}`;
  let kept = nodesKept.get(mirror);
  if (kept?.changes !== changes) {
    kept = { changes, nodes: mirror.room.by(sources) };
    nodesKept.set(mirror, kept);
  }
  const isMoving = ({ uid }: { readonly uid: string }): boolean => moving.has(uid);
  return kept.nodes.flatMap((node) => {
    const joined = cluster.nodes.get(node.uid);
    if (without.has(node.name)) return joined === undefined ? [] : drained(node);
    if (joined === undefined || moving.size === 0) return node;
    const { pods } = cluster;
    const moves = pods.by('node', node.name).some(isMoving);
    return moves || pods.by('awaitedBy', node.name).some(isMoving)
      ? mirror.room.one(joined, { ...sources, moving })
      : node;
  });
}

type KeptTypes = {
  readonly changes: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly types: readonly InstanceType[];
};
const typesKept = new WeakMap<CatalogMirror, WeakMap<TypesByName, KeptTypes>>();

/**
 * The types with what EC2 has no capacity for marked as unavailable. The same list is given until
 * the catalog changes or a mark ends, and the planner keeps what it derives from a list.
 */
export function typesNow(
  catalog: CatalogMirror,
  types: TypesByName,
  nowMs: number,
): readonly InstanceType[] {
  const of = typesKept.get(catalog) ?? new WeakMap<TypesByName, KeptTypes>();
  typesKept.set(catalog, of);
  const kept = of.get(types);
  if (kept?.changes === catalog.changes && kept.fromMs <= nowMs && nowMs < kept.untilMs)
    return kept.types;
  const made = {
    changes: catalog.changes,
    fromMs: nowMs,
    untilMs: catalog.nextEndMs(nowMs),
    types: [...types.values()].map((type) => withAvailability(catalog, type, nowMs)),
  };
  of.set(types, made);
  return made.types;
}

function withAvailability(catalog: CatalogMirror, type: InstanceType, nowMs: number): InstanceType {
  const out = (offering: InstanceType['offerings'][number]): boolean =>
    catalog.isUnavailable({ ...offering, instanceType: type.name }, nowMs);
  if (!type.offerings.some((offering) => offering.available && out(offering))) return type;
  return {
    ...type,
    offerings: type.offerings.map((offering) =>
      out(offering) ? { ...offering, available: false } : offering,
    ),
  };
}
