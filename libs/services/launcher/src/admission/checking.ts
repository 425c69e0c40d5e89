import type { Pod } from '@dovetail/core-kube-model';
import { checkBin, checkPlan, defaultPlanOptions, type ExistingNode, type NewNode, type PlanOptions, type Placement, type Snapshot, type Violation } from '@dovetail/core-scheduling';
import type { LauncherConfig } from '../config.js';
import type { CatalogView } from '../world/catalog-view.js';
import { snapshotWithoutNodes } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import type { CheckBin } from './judged.js';

/** The rules that plans are made by must be those that they are judged by. */
export const planOptionsOf = (config: Pick<LauncherConfig, 'hostnameSpread' | 'preferencePolicy' | 'minValuesPolicy' | 'reservedOfferings'>): PlanOptions => ({
  ...defaultPlanOptions, hostnameSpread: config.hostnameSpread, preferencePolicy: config.preferencePolicy, minValuesPolicy: config.minValuesPolicy, reservedOfferings: config.reservedOfferings,
});

/** The independent checker on the launcher's own watches, as they are when the round begins. */
export function checkerOf(world: World, catalog: CatalogView, options: PlanOptions): CheckBin {
  const base = snapshotWithoutNodes(world, catalog);
  return ({ bin, pods, nodes, beside }) => {
    const isNew = 'options' in bin;
    const snapshot = { ...base, nodes: nodesThatMatter(nodes, pods, isNew ? undefined : bin.nodeUid) };
    // Limits are kept by the ledger, which narrows options; the checker would count the later bins at their largest.
    return (isNew ? checkBin(snapshot, pods, bin, options, beside) : checkPlacement(snapshot, pods, bin, { options, beside })).filter(({ code }) => code !== 'pool-limit');
  };
}

const bindsOthers = (pod: Pod): boolean => pod.requiredPodAntiAffinity.length > 0;
const asksOfOthers = (pod: Pod): boolean =>
  bindsOthers(pod) || pod.requiredPodAffinity.length > 0 || pod.topologySpread.some((constraint) => constraint.whenUnsatisfiable === 'DoNotSchedule');

/** Whether some pod there keeps others away; asked for every bin of a round, so remembered with the node's value. */
const guarded = new WeakMap<ExistingNode, boolean>();
function isGuarded(node: ExistingNode): boolean {
  const known = guarded.get(node) ?? [...node.pods, ...node.promisedPods].some(bindsOthers);
  guarded.set(node, known);
  return known;
}

/**
 * Pods that ask nothing of other pods are only concerned with their own node, and with nodes whose pods keep others away; with thousands
 * of nodes the rest would take most of a round's time.
 */
function nodesThatMatter(nodes: readonly ExistingNode[], pods: readonly Pod[], own: string | undefined): readonly ExistingNode[] {
  return pods.some(asksOfOthers) ? nodes : nodes.filter((node) => node.uid === own || isGuarded(node));
}

type Beside = { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[] };

/** A placement and what is to happen beside it, checked as a plan of its own; only what concerns its node counts. */
function checkPlacement(snapshot: Snapshot, pods: readonly Pod[], placement: Placement, by: { readonly options: PlanOptions; readonly beside: Beside }): readonly Violation[] {
  const { newNodes, placements } = by.beside;
  const plan = {
    stateSequence: 0, catalogRevision: '', admissionHead: '', seed: 0, steps: 0, newNodes, placements: [placement, ...placements], unplaced: [],
    priceMicrosPerHour: 0, bound: { kind: 'none' as const, priceMicrosPerHour: 0 }, stats: { pods: pods.length, classes: 0, instanceTypes: 0 },
  };
  return checkPlan(snapshot, pods, plan, by.options).filter((violation) => violation.where === placement.nodeName);
}
