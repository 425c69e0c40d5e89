import type { Channel } from '@dovetail/contracts';
import type { Bus, Clock, Cloud, Hash, InterruptionQueue, KubeApi, Leadership, Log, Metrics } from '@dovetail/core-ports';
import type { ReaperConfig } from './config.js';

/** Everything outside that the reaper reaches, each through its port. */
export type ReaperDeps = {
  readonly kube: KubeApi;
  readonly cloud: Pick<Cloud, 'instancesByTag' | 'instancesById' | 'terminate' | 'identity'>;
  /** Absent: no queue is configured, and interruptions are noticed only when the instance is gone. */
  readonly queue?: InterruptionQueue;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hash: Hash;
  readonly leadership: Leadership;
};

export const source = 'reaper';

/** How the reaper speaks on the bus. */
export const channelOf = (deps: ReaperDeps, config: Pick<ReaperConfig, 'clusterName'>): Channel =>
  ({ bus: deps.bus, clock: deps.clock, hash: deps.hash, cluster: config.clusterName, source });
