export * from './snapshot.js';
export * from './plan.js';
export { defaultPlanOptions, finishMsPerNode } from './options.js';
export { plan } from './planner.js';
export { checkPlan, checkBin } from './check/check.js';
export { boundsOf, tightBound, defaultBoundLimits, type BoundLimits, type Bounds } from './bounds/tight.js';
