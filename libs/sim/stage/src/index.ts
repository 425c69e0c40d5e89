export { bootedInstance } from './booted-instance.js';
export { leading } from './leadership.js';
export { m5Claim, m5Node, m5Type, m5Types } from './m5.js';
export { type Death, Mortal, type MortalPorts } from './mortal.js';
export { nodeClassObject, nodePoolObject, podObject } from './objects.js';
export { ProcessClock } from './process-clock.js';
export { type ReadyNode, type ReadyNodeOptions, ReadyNodes } from './ready-nodes.js';
export { clusterName, hash, region, Stage, type StageOptions, startMs } from './stage.js';
export { Workloads } from './workloads.js';
