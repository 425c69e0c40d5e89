export { defaultPodWatcherConfig, type PodWatcherConfig, type PodWatcherDeps } from './config.js';
export { podWatcherMetrics } from './metrics.js';
export { createPodWatcher } from './pod-watcher.js';
