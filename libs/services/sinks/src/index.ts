/**
 * The service behind the sinks: it reads decisions, one consumer for each sink, and hands them to
 * receivers as CloudEvents. Receivers are ports; `@dovetail/adapter-sinks` has them.
 */
export { sinksMetrics } from './metrics.js';
export { createSinks } from './service.js';
export type { SinkSpec } from './sink-spec.js';
