import { type CatalogView, type Cluster, snapshotWithoutNodes } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import {
  checkBin,
  checkPlan,
  defaultPlanOptions,
  type ExistingNode,
  type NewNode,
  type Placement,
  type PlanOptions,
  type Snapshot,
  type Violation,
} from '@dovetail/core-scheduling';

import type { LauncherConfig } from '../config.js';
import type { CheckBin } from './judged.js';

/** The planner's options. Invariant: plans are judged by the rules that they are made by. */
export const planOptionsOf = (
  config: Pick<
    LauncherConfig,
    'hostnameSpread' | 'preferencePolicy' | 'minValuesPolicy' | 'reservedOfferings'
  >,
): PlanOptions => ({
  ...defaultPlanOptions,
  hostnameSpread: config.hostnameSpread,
  preferencePolicy: config.preferencePolicy,
  minValuesPolicy: config.minValuesPolicy,
  reservedOfferings: config.reservedOfferings,
});

/** The independent checker on the launcher's own mirror, as it is when the round begins. */
export function checkerOf(cluster: Cluster, catalog: CatalogView, options: PlanOptions): CheckBin {
  const base = snapshotWithoutNodes(cluster, catalog);
  return ({ bin, pods, nodes, beside }) => {
    const isNew = 'options' in bin;
    const snapshot = {
      ...base,
      nodes: nodesThatMatter(nodes, pods, isNew ? undefined : bin.nodeUid),
    };
    // The ledger keeps limits by narrowing options; the checker would count later bins at their
    // largest.
    return (
      isNew
        ? checkBin(snapshot, pods, bin, options, beside)
        : checkPlacement(snapshot, pods, bin, { options, beside })
    ).filter(({ code }) => code !== 'pool-limit');
  };
}

const bindsOthers = (pod: Pod): boolean => pod.requiredPodAntiAffinity.length > 0;
const asksOfOthers = (pod: Pod): boolean =>
  bindsOthers(pod) ||
  pod.requiredPodAffinity.length > 0 ||
  pod.topologySpread.some((constraint) => constraint.whenUnsatisfiable === 'DoNotSchedule');

/**
 * Whether some pod there keeps others away. It is asked for each bin of a round, and so remembered.
 */
const guarded = new WeakMap<ExistingNode, boolean>();
function isGuarded(node: ExistingNode): boolean {
  const known = guarded.get(node) ?? [...node.pods, ...node.promisedPods].some(bindsOthers);
  guarded.set(node, known);
  return known;
}

/**
 * The nodes that matter to a bin. Pods that ask nothing of others concern only their own node and
 * nodes whose pods keep others away; with thousands of nodes the rest would take most of a round.
 */
function nodesThatMatter(
  nodes: readonly ExistingNode[],
  pods: readonly Pod[],
  own: string | undefined,
): readonly ExistingNode[] {
  return pods.some(asksOfOthers)
    ? nodes
    : nodes.filter((node) => node.uid === own || isGuarded(node));
}

type Beside = { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[] };

/** Checks a placement and the bins beside it as a plan; only violations on its own node count. */
function checkPlacement(
  snapshot: Snapshot,
  pods: readonly Pod[],
  placement: Placement,
  by: { readonly options: PlanOptions; readonly beside: Beside },
): readonly Violation[] {
  const { newNodes, placements } = by.beside;
  const plan = {
    stateSequence: 0,
    catalogRevision: '',
    admissionHead: '',
    seed: 0,
    steps: 0,
    newNodes,
    placements: [placement, ...placements],
    unplaced: [],
    priceMicrosPerHour: 0,
    bound: { kind: 'none' as const, priceMicrosPerHour: 0 },
    stats: { pods: pods.length, classes: 0, instanceTypes: 0 },
  };
  return checkPlan(snapshot, pods, plan, by.options).filter(
    (violation) => violation.where === placement.nodeName,
  );
}
