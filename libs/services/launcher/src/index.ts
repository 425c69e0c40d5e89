/*
 * The launcher admits plans, launches what was admitted and takes nodes to initialized.
 *
 * Its folders have a strict order; each imports only those to its left:
 *
 *   cluster < tell < discovery < launch < admission < lifecycle
 *
 * config.ts and deps.ts stand below all of them; epoch-parts.ts, launcher-epoch.ts and launcher.ts
 * above.
 */
export { defaultLauncherConfig, type LauncherConfig } from './config.js';
export { createLauncher } from './launcher.js';
export { launcherMetrics } from './metrics.js';
