export { provenBound } from './bounds/proven.js';
export { boundsOf, fewestNodes, type Planned, tightBound } from './bounds/tight.js';
export { unitPricesOf } from './bounds/unit-prices.js';
export { checkBin, checkBinAmong, checkPlan } from './check/check.js';
export { StandingNodes } from './check/standing-nodes.js';
export { closest } from './explain/hints.js';
export { RandomNumbers } from './improve/random-numbers.js';
export { expectedDaemonSets } from './model/expected-daemons.js';
export { defaultPlanOptions, finishMsPerNode } from './options.js';
export { placesOnExisting } from './places.js';
export * from './plan.js';
export { plan } from './planner.js';
export * from './reasons.js';
export { NotedAnswers } from './record/answers.js';
export { PartWriter, type RecordPart } from './record/parts.js';
export {
  partsOfRecord,
  planAgain,
  type PlanInput,
  readRecord,
  type Recorded,
  writtenRecord,
} from './record/record.js';
export { type PlanSketch, sketchOf } from './record/sketch.js';
export { hasSizedNodes } from './sized-nodes.js';
export * from './sizing.js';
export * from './snapshot.js';
