export { createLauncher, runLauncher, type Launcher } from './launcher.js';
export { defaultLauncherConfig, type AdmissionConfig, type DiscoveryConfig, type LaunchConfig, type LauncherConfig, type LifecycleConfig } from './config.js';
export type { LauncherDeps } from './deps.js';
export { launcherMetrics } from './metrics.js';
