import { checkBin, checkPlan, defaultPlanOptions, type NewNode, type PlanOptions, type Placement, type Snapshot, type Violation } from '@dovetail/core-scheduling';
import type { LauncherConfig } from '../config.js';
import type { CatalogView } from '../world/catalog-view.js';
import { snapshotOf } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import type { CheckBin } from './judged.js';

/** The rules that plans are made by must be those that they are judged by. */
export const planOptionsOf = (config: Pick<LauncherConfig, 'hostnameSpread' | 'preferencePolicy' | 'minValuesPolicy' | 'reservedOfferings'>): PlanOptions => ({
  ...defaultPlanOptions, hostnameSpread: config.hostnameSpread, preferencePolicy: config.preferencePolicy, minValuesPolicy: config.minValuesPolicy, reservedOfferings: config.reservedOfferings,
});

/** The independent checker on the launcher's own watches, as they are when the round begins. */
export function checkerOf(world: World, catalog: CatalogView, options: PlanOptions, nowMs: number): CheckBin {
  const base = snapshotOf(world, catalog, nowMs);
  return ({ bin, pods, nodes, beside }) => {
    const snapshot = { ...base, nodes };
    // Limits are kept by the ledger, which narrows options; the checker would count the later bins at their largest.
    return ('options' in bin ? checkBin(snapshot, pods, bin, options, beside) : checkPlacement(snapshot, pods, bin, { options, beside })).filter(({ code }) => code !== 'pool-limit');
  };
}

type Beside = { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[] };

/** A placement and what is to happen beside it, checked as a plan of its own; only what concerns its node counts. */
function checkPlacement(snapshot: Snapshot, pods: Parameters<typeof checkPlan>[1], placement: Placement, by: { readonly options: PlanOptions; readonly beside: Beside }): readonly Violation[] {
  const { newNodes, placements } = by.beside;
  const plan = {
    stateSequence: 0, catalogRevision: '', admissionHead: '', seed: 0, steps: 0, newNodes, placements: [placement, ...placements], unplaced: [],
    priceMicrosPerHour: 0, bound: { kind: 'none' as const, priceMicrosPerHour: 0 }, stats: { pods: pods.length, classes: 0, instanceTypes: 0 },
  };
  return checkPlan(snapshot, pods, plan, by.options).filter((violation) => violation.where === placement.nodeName);
}
