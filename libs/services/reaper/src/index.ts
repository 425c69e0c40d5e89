export {
  type CollectionConfig,
  defaultReaperConfig,
  type DisruptionConfig,
  type InterruptionConfig,
  type ReaperConfig,
  type TerminationConfig,
} from './config.js';
export type { ReaperDeps } from './deps.js';
export { reaperMetrics } from './metrics.js';
export { createReaper } from './reaper.js';
