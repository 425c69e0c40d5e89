export { type Planned, provenBound } from './bounds/proven.js';
export { boundsOf, tightBound } from './bounds/tight.js';
export { checkBin, checkBinAmong, checkPlan } from './check/check.js';
export { StandingNodes } from './check/standing-nodes.js';
export { expectedDaemonSets } from './model/expected-daemons.js';
export { defaultPlanOptions, finishMsPerNode } from './options.js';
export * from './plan.js';
export { plan } from './planner.js';
export * from './snapshot.js';
