export { defaultPodWatcherConfig } from './config.js';
export { podWatcherMetrics } from './metrics.js';
export { createPodWatcher } from './pod-watcher.js';
