export * from './backoff.js';
export * from './batches.js';
export * from './feed.js';
export * from './groups.js';
export * from './metrics.js';
export * from './pending.js';
export * from './run-pod-watcher.js';
export * from './sources.js';
