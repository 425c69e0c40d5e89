export { defaultSolverConfig } from './config.js';
export { type Solved, SolverEngine } from './engine.js';
export { type EnginePort, inThread, type Searched } from './engine-port.js';
export { solverMetrics } from './metrics.js';
export { Mirror } from './mirror.js';
export { snapshotOf } from './snapshot.js';
export { createSolver } from './solver.js';
