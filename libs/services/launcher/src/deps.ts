import type { Bus, Clock, Cloud, Hash, KubeApi, Leadership, Log, Metrics, UserDataRenderer } from '@dovetail/core-ports';

/** Everything outside that the launcher reaches, each through its port. */
export type LauncherDeps = {
  readonly kube: KubeApi;
  readonly cloud: Cloud;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hash: Hash;
  readonly leadership: Leadership;
  readonly userData: UserDataRenderer;
};
