export { bootedInstance } from './booted-instance.js';
export { type StageClock, stageClock } from './clock.js';
export { crdFiles, customResourceDefinitions } from './definitions.js';
export { leading } from './leadership.js';
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
export {
  claimValue,
  instanceTypeValue,
  m5Types,
  nodeClassValue,
  nodeValue,
  podValue,
  poolValue,
} from './values.js';
export { Workloads } from './workloads.js';
