import { poolKey } from '@dovetail/core-api';
import { formatResources, type Pod, type Taint } from '@dovetail/core-kube-model';
import {
  type BinOption,
  hasSizedNodes,
  type NewNode,
  type Plan,
  type Reason,
  type Snapshot,
} from '@dovetail/core-scheduling';

import type { Problem } from '../manifests/problems.js';

/** A node to launch, in the form of `-o json`. Prices are US dollars per hour. */
export type NewNodeResult = {
  readonly nodePool: string;
  readonly poolKind: string;
  readonly instanceTypes: readonly string[];
  readonly zones: readonly string[];
  readonly capacityTypes: readonly string[];
  readonly price: number;
  /** The price is derived, not published: another region's, or for spot the on-demand price. */
  readonly priceEstimated: boolean;
  readonly requests: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly pods: readonly string[];
};

/** The form of a plan, which docs/reference/schemas publishes. */
export const simulateSchema = 'dovetail.sh/simulate/v1';

/** A plan in the form of `-o json` and `-o yaml`. */
export type SimulationResult = {
  readonly schema: typeof simulateSchema;
  readonly newNodes: readonly NewNodeResult[];
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[];
  readonly unschedulable: readonly { readonly pod: string; readonly reasons: readonly Reason[] }[];
  /**
   * `gap` is the share of the bound by which the cost may exceed the best possible; null while
   * there is no bound, or if it does not apply (`sized`).
   */
  readonly cost: {
    readonly hourly: number;
    readonly lowerBound: number;
    readonly gap: number | null;
    readonly bound: string;
    /**
     * Whether some nodes are sized by a part of the types, as those of a Provisioner that names
     * none. The bound counts every type and does not apply to such nodes.
     */
    readonly sized: boolean;
    /** The charge per node that plans are compared with. `hourly` and `lowerBound` leave it out. */
    readonly nodeCharge: number;
    /** The amounts that new nodes count for pods that request none; empty if none count so. */
    readonly assumedRequests: Readonly<Record<string, string>>;
    readonly estimated: boolean;
  };
  readonly stats: {
    readonly pods: number;
    readonly classes: number;
    readonly types: number;
    readonly milliseconds: number;
    readonly steps: number;
  };
  /** The problems of the input, in the order in which they were found. */
  readonly problems: readonly Problem[];
};

const dollars = (micros: number): number => micros / 1_000_000;
const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

/** `namespace/name`, the form in which results name pods. */
export const podName = (pod: Pod): string => `${pod.namespace}/${pod.name}`;

/** Whether a node's price is an estimate, according to its pool's catalog. */
export function isEstimated(
  snapshot: Snapshot,
  node: NewNode,
  option: BinOption | undefined,
): boolean {
  const pool = snapshot.pools.find((one) => poolKey(one.pool.identity) === poolKey(node.pool));
  const type = pool?.instanceTypes.find((one) => one.name === option?.instanceType);
  return (
    type?.offerings.some(
      (one) =>
        one.zone === option?.zone && one.capacityType === option.capacityType && one.priceEstimated,
    ) ?? false
  );
}

type Naming = {
  readonly namesOf: (uids: readonly string[]) => readonly string[];
  readonly snapshot: Snapshot;
};

function newNodeOf(node: NewNode, { namesOf, snapshot }: Naming): NewNodeResult {
  return {
    nodePool: node.pool.name,
    poolKind: node.pool.kind,
    instanceTypes: distinct(node.options.map((option) => option.instanceType)),
    zones: distinct(node.options.map((option) => option.zone)).toSorted(),
    capacityTypes: distinct(node.options.map((option) => option.capacityType)).toSorted(),
    price: dollars(node.options[0]?.priceMicrosPerHour ?? 0),
    priceEstimated: isEstimated(snapshot, node, node.options[0]),
    requests: formatResources(node.requests),
    labels: node.labels,
    taints: node.taints,
    pods: namesOf(node.podUids),
  };
}

/** The plan as a result, with pods by name. */
export function resultOf(
  plan: Plan,
  world: { readonly snapshot: Snapshot; readonly pods: readonly Pod[] },
  what: { readonly milliseconds: number },
): Omit<SimulationResult, 'schema' | 'problems'> {
  const names = new Map(world.pods.map((pod) => [pod.uid, podName(pod)]));
  const nameOf = (uid: string): string => names.get(uid) ?? uid;
  const namesOf = (uids: readonly string[]): readonly string[] => uids.map(nameOf).sort();
  const { priceMicrosPerHour: bound, kind } = plan.bound;
  const sized = hasSizedNodes(plan);
  const comparable = kind !== 'none' && bound > 0 && !sized;
  const newNodes = plan.newNodes.map((node) =>
    newNodeOf(node, { namesOf, snapshot: world.snapshot }),
  );
  return {
    newNodes,
    existingNodes: plan.placements.map((placement) => ({
      name: placement.nodeName,
      pods: namesOf(placement.podUids),
    })),
    unschedulable: plan.unplaced.map(({ podUid, reasons }) => ({ pod: nameOf(podUid), reasons })),
    cost: {
      hourly: dollars(plan.priceMicrosPerHour),
      lowerBound: dollars(bound),
      gap: comparable ? (plan.priceMicrosPerHour - bound) / bound : null,
      bound: kind,
      sized,
      nodeCharge: dollars(plan.nodeChargeMicrosPerHour ?? 0),
      assumedRequests: formatResources(plan.assumedRequests ?? {}),
      estimated: newNodes.some((node) => node.priceEstimated),
    },
    stats: {
      pods: plan.stats.pods,
      classes: plan.stats.classes,
      types: plan.stats.instanceTypes,
      milliseconds: Math.round(what.milliseconds * 1000) / 1000,
      steps: plan.steps,
    },
  };
}
