export { defaultSolverConfig } from './config.js';
export { type Solved, SolverEngine } from './engine.js';
export { EngineDesk, type Searched } from './engine-desk.js';
export { type EnginePort, inThread } from './engine-port.js';
export type { Done } from './lanes.js';
export { solverMetrics } from './metrics.js';
export { Mirror } from './mirror.js';
export { snapshotOf } from './snapshot.js';
export { createSolver } from './solver.js';
