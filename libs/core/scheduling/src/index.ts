export * from './snapshot.js';
export * from './plan.js';
