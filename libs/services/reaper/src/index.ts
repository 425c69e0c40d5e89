export { defaultReaperConfig } from './config.js';
export { reaperMetrics } from './metrics.js';
export { createReaper } from './reaper.js';
