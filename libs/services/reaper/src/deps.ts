import type { Channel, ChannelBus } from '@dovetail/contracts';
import type {
  Account,
  BusConnection,
  Clock,
  Hash,
  Instances,
  InterruptionQueue,
  KubeCreates,
  KubeDeletes,
  KubeDiscovery,
  KubePatches,
  KubeReads,
  KubeWatches,
  Leadership,
  Log,
  Metrics,
  PodEvictions,
  Terminations,
  Vitals,
} from '@dovetail/core-ports';

import type { ReaperConfig } from './config.js';

/** Everything outside that the reaper reaches, each through its port. */
export type ReaperDeps = {
  readonly kube: KubeWatches &
    KubeReads &
    KubeCreates &
    KubePatches &
    KubeDeletes &
    PodEvictions &
    KubeDiscovery;
  readonly cloud: Instances & Terminations & Account;
  /**
   * Absent: no queue is configured, and interruptions are noticed only when the instance is gone.
   */
  readonly queue?: InterruptionQueue;
  readonly bus: ChannelBus & BusConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hash: Hash;
  readonly leadership: Leadership;
  /** Watches over the turns of the loops. */
  readonly vitals: Vitals;
};

export const source = 'reaper';

/** How the reaper speaks on the bus. */
export const channelOf = (
  deps: ReaperDeps,
  config: Pick<ReaperConfig, 'clusterName'>,
): Channel => ({
  bus: deps.bus,
  clock: deps.clock,
  hash: deps.hash,
  cluster: config.clusterName,
  source,
});
