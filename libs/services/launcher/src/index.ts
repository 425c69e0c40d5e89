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
export {
  type AdmissionConfig,
  defaultLauncherConfig,
  type DiscoveryConfig,
  type LaunchConfig,
  type LauncherConfig,
  type LifecycleConfig,
} from './config.js';
export type { LauncherDeps } from './deps.js';
export { createLauncher } from './launcher.js';
export { launcherMetrics } from './metrics.js';
