import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { Pod } from '@dovetail/core-kube-model';

import {
  checkPlan,
  defaultPlanOptions,
  type Plan,
  plan,
  type PlanOptions,
  type Snapshot,
} from '../index.js';
import { poolOf, snapshotOf } from './objects.js';
import { familyTypes } from './worlds.js';

export type Scenario = {
  readonly pods: readonly Pod[];
  /** One pool `default` without restrictions unless told otherwise. */
  readonly pools?: readonly Pool[];
  readonly types?: readonly InstanceType[];
  readonly snapshot?: Partial<Snapshot>;
  readonly options?: Partial<PlanOptions>;
};

/** Plans a scenario; throws when the checker finds anything wrong with the plan. */
export function planScenario(scenario: Scenario): Plan {
  const instanceTypes = scenario.types ?? familyTypes();
  const snapshot = snapshotOf({
    pools: (scenario.pools ?? [poolOf('default')]).map((pool) => ({ pool, instanceTypes })),
    ...scenario.snapshot,
  });
  const options = { ...defaultPlanOptions, ...scenario.options };
  const made = plan(snapshot, scenario.pods, options);
  const violations = checkPlan(snapshot, scenario.pods, made, options);
  if (violations.length > 0)
    throw new Error(`the plan breaks rules: ${JSON.stringify(violations)}`);
  return made;
}

/**
 * The values of a label over the options of the new node that holds a pod; empty when it is on
 * none.
 */
export function valuesAt(
  made: Plan,
  podUid: string,
  key: 'zone' | 'capacityType' | 'instanceType',
): readonly string[] {
  const node = made.newNodes.find((one) => one.podUids.includes(podUid));
  return [...new Set(node?.options.map((option) => option[key]) ?? [])].sort();
}

/** Codes of why a pod has no place; empty when it has one. */
export const codesOf = (made: Plan, podUid: string): readonly string[] =>
  made.unplaced.find((one) => one.podUid === podUid)?.reasons.map((reason) => reason.code) ?? [];

/**
 * How many of the pods named with this prefix are in each zone (nodes with a single zone), counts
 * sorted.
 */
export function zoneCounts(made: Plan, prefix: string): readonly number[] {
  const counts = new Map<string, number>();
  for (const node of made.newNodes) {
    const zones = [...new Set(node.options.map((option) => option.zone))].join('+');
    const mine = node.podUids.filter((uid) => uid.startsWith(prefix)).length;
    if (mine > 0) counts.set(zones, (counts.get(zones) ?? 0) + mine);
  }
  return [...counts.values()].sort((a, b) => a - b);
}

/** Pods with this prefix per new node, most first. */
export const perNode = (made: Plan, prefix: string): readonly number[] =>
  made.newNodes
    .map((node) => node.podUids.filter((uid) => uid.startsWith(prefix)).length)
    .filter((count) => count > 0)
    .sort((a, b) => b - a);
