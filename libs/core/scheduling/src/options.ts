import { leastPrice } from './sizing.js';
import type { PlanOptions } from './snapshot.js';

/**
 * The options of a plan at the least price: no charge per node, pods by their requests, no
 * improvement steps, and Karpenter's defaults elsewhere. Services and commands add `defaultSizing`.
 */
export const defaultPlanOptions: PlanOptions = {
  seed: 1,
  stepsMax: 0,
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  hostnameSpread: 'balanced',
  reservedOfferings: 'Strict',
  ...leastPrice,
  instanceTypesMax: 600,
  existingNodes: 'first-fit',
  bounds: 'quick',
};

/**
 * The time to write out one node of a plan, in milliseconds. A caller with a deadline ends the
 * search earlier by this time. A higher value leaves less time to search; a lower one risks a late
 * answer. No measurement is recorded.
 */
export const finishMsPerNode = 0.05;
