export * from './settings.js';
export * from './log.js';
export * from './metrics.js';
export * from './clock.js';
export * from './health.js';
export * from './lease.js';
export * from './service.js';
