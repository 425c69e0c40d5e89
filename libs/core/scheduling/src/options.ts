import type { PlanOptions } from './snapshot.js';

/**
 * What services use unless their settings say otherwise: no improvement steps, Karpenter's defaults
 * elsewhere.
 */
export const defaultPlanOptions: PlanOptions = {
  seed: 1,
  stepsMax: 0,
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  hostnameSpread: 'balanced',
  reservedOfferings: 'Strict',
  instanceTypesMax: 600,
  bounds: 'quick',
};

/**
 * What it takes to write one node of a plan out, in milliseconds: who has a deadline ends the
 * search so much earlier.
 */
export const finishMsPerNode = 0.05;
