export { bootedInstance } from './booted-instance.js';
export { type StageClock, stageClock } from './clock.js';
export { crdFiles, customResourceDefinitions } from './definitions.js';
export { leading } from './leadership.js';
export { m5Claim, m5Node, m5Type, m5Types } from './m5.js';
export { type Death, Mortal, type MortalPorts } from './mortal.js';
export {
  budgetObject,
  nodeClassObject,
  nodePoolObject,
  type PodChange,
  podObject,
  replicaSetObject,
} from './objects.js';
export { type ReadyNode, type ReadyNodeOptions, ReadyNodes } from './ready-nodes.js';
export { type LogEntry, RecordingLog, RecordingMetrics, type Sample } from './recording.js';
export { clusterName, hash, region, Stage, type StageOptions, startMs } from './stage.js';
export { Workloads } from './workloads.js';
