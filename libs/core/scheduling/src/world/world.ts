import type { Pod } from '@dovetail/core-kube-model';

import { StateTable } from '../match/states.js';
import { classesOf, type PodClass } from '../model/classes.js';
import { daemonsOf } from '../model/daemons.js';
import { type Dimensions, dimensionsOf } from '../model/dimensions.js';
import { GroupTable } from '../model/groups.js';
import { type NodeRoom, nodeRoomsOf } from '../model/nodes.js';
import { selectorKeysOf } from '../model/selection.js';
import { ShapeTable } from '../model/shapes.js';
import { takenClaims } from '../model/taken-claims.js';
import { isOpen, type Template, templatesOf, wellKnownLabels } from '../model/templates.js';
import { tooManyTerms } from '../model/too-many-terms.js';
import { volumeIndexOf } from '../model/volumes.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { fitting } from './assumed.js';
import { registerRunning, type Standings, standingsOf } from './standings.js';

/** A snapshot and the pods to place, in the form that the search works on. */
export type World = {
  readonly snapshot: Snapshot;
  readonly options: PlanOptions;
  readonly dimensions: Dimensions;
  readonly wellKnown: ReadonlySet<string>;
  readonly templates: readonly Template[];
  readonly nodes: readonly NodeRoom[];
  readonly classes: readonly PodClass[];
  readonly shapes: ShapeTable;
  readonly groups: GroupTable;
  readonly states: StateTable;
  readonly standings: Standings;
};

/** Returns the same world without `sizes`: every type may size a node. */
export function unsized(world: World): World {
  const templates = world.templates.map(({ sizes: _, ...template }): Template => template);
  return { ...world, templates, states: new StateTable(templates, world.wellKnown) };
}

/** Returns the same world without assumed amounts: new nodes count pods by their requests. */
export const unassumed = (world: World): World => ({
  ...world,
  classes: world.classes.map((cls) => ({ ...cls, newNodeRequests: cls.requests })),
});

/** Whether a world counts some pods as more than their requests. */
export const isAssuming = ({ classes }: World): boolean =>
  classes.some((cls) => cls.newNodeRequests !== cls.requests);

/** Keeps the first pod of each uid. */
function onlyOnce(pods: readonly Pod[], uids: ReadonlySet<string>): readonly Pod[] {
  if (uids.size === pods.length) return pods;
  const left = new Set(uids);
  return pods.filter((pod) => left.delete(pod.uid));
}

const someTaintIsPreference = ({ pools }: Snapshot): boolean =>
  pools.some(
    ({ pool }) => isOpen(pool) && pool.taints.some((taint) => taint.effect === 'PreferNoSchedule'),
  );

const readable = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter((pod) => tooManyTerms(pod) === undefined);

/**
 * Builds the world of one plan. The search afterwards compares numbers and never reads text of the
 * snapshot. A pod that is listed twice counts once.
 */
export function worldOf(snapshot: Snapshot, asked: readonly Pod[], options: PlanOptions): World {
  const { giveWay } = options;
  const moving = new Set(asked.map((pod) => pod.uid));
  const pods = onlyOnce(asked, moving);
  const dimensions = dimensionsOf(readable(pods), snapshot.daemonSets);
  const daemons = daemonsOf(snapshot.daemonSets, dimensions);
  const wellKnown = wellKnownLabels(snapshot);
  const tables = { dimensions, daemons, wellKnown, pods: pods.length, options };
  const templates = templatesOf(snapshot, tables);
  giveWay?.();
  const volumes = volumeIndexOf(snapshot);
  const selection = selectorKeysOf(readable(pods), snapshot);
  const shapes = new ShapeTable();
  const groups = new GroupTable(snapshot.namespaces);
  registerRunning(snapshot, groups);
  giveWay?.();
  const classes = classesOf(pods, {
    ...{ dimensions, selection, shapes, groups, volumes, giveWay },
    preferences: options.preferencePolicy,
    assumed: options.assumedRequests,
    taintPreferences: someTaintIsPreference(snapshot),
    takenClaim: takenClaims(pods, snapshot, moving),
  });
  const states = new StateTable(templates, wellKnown);
  giveWay?.();
  const counted = { groups, classes, selection, templates, wellKnown, moving, giveWay };
  return {
    snapshot,
    options,
    dimensions,
    wellKnown,
    templates,
    classes: classes.map((cls) => fitting(cls, { templates, states })),
    shapes,
    groups,
    nodes: nodeRoomsOf(snapshot, { dimensions, daemons, volumes, moving, giveWay }),
    states,
    standings: standingsOf(snapshot, counted),
  };
}
