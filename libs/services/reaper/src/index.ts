export { createReaper, runReaper, type Reaper, type ReaperState } from './reaper.js';
export { defaultReaperConfig, type ReaperConfig, type CollectionConfig, type DisruptionConfig, type InterruptionConfig, type TerminationConfig } from './config.js';
export type { ReaperDeps } from './deps.js';
export { reaperMetrics } from './metrics.js';
