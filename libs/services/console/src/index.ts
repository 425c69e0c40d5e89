/**
 * The console's service: it mirrors the state feed and the decisions, and makes frames of them for
 * pages. `view/` is shared with the page.
 */
export { defaultConsoleConfig } from './config.js';
export { type Console, createConsole } from './console.js';
export { consoleMetrics } from './metrics.js';
export type { Frame } from './view/frames.js';
