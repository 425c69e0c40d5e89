export * from './engine.js';
export * from './engine-port.js';
export * from './metrics.js';
export * from './mirror.js';
export * from './run-solver.js';
export { snapshotOf } from './snapshot.js';
