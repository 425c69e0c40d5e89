export {
  type BoundLimits,
  type Bounds,
  boundsOf,
  defaultBoundLimits,
  tightBound,
} from './bounds/tight.js';
export { checkBin, checkPlan } from './check/check.js';
export { defaultPlanOptions, finishMsPerNode } from './options.js';
export * from './plan.js';
export { plan } from './planner.js';
export * from './snapshot.js';
