export {
  type BoundLimits,
  type Bounds,
  boundsOf,
  defaultBoundLimits,
  tightBound,
} from './bounds/tight.js';
export { type BinQuestion, checkBin, checkBinAmong, checkPlan } from './check/check.js';
export { StandingNodes } from './check/standing-nodes.js';
export { defaultPlanOptions, finishMsPerNode } from './options.js';
export * from './plan.js';
export { plan } from './planner.js';
export * from './snapshot.js';
