import type { Channel, ChannelBus } from '@dovetail/contracts';
import type {
  Account,
  BusConnection,
  Clock,
  Hash,
  Instances,
  InstanceStatuses,
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
  ScrapedMetrics,
  ServerClock,
  Terminations,
  Traces,
  Vitals,
} from '@dovetail/core-ports';

import type { ReaperConfig } from './config.js';

/** The parts of the Kubernetes API that the reaper uses. */
type ReaperKube = KubeWatches &
  KubeReads &
  KubeCreates &
  KubePatches &
  KubeDeletes &
  PodEvictions &
  KubeDiscovery;

/** Everything outside that the reaper reaches, each through its port. */
export type ReaperDeps = {
  readonly kube: ReaperKube;
  /**
   * The same API for work with a deadline; its calls overtake others that wait. Absent: `kube`.
   */
  readonly urgentKube?: ReaperKube;
  /** The API server's clock beside ours. */
  readonly serverClock: ServerClock;
  readonly cloud: Instances & InstanceStatuses & Terminations & Account;
  /**
   * Absent: no queue is configured, and interruptions are noticed only when the instance is gone.
   */
  readonly queue?: InterruptionQueue;
  readonly bus: ChannelBus & BusConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scraped: ScrapedMetrics;
  readonly hash: Hash;
  readonly leadership: Leadership;
  /** Watches over the turns of the loops. */
  readonly vitals: Vitals;
  /** Where spans of traces go. Absent: nothing is traced. */
  readonly traces?: Traces;
};

/** The Kubernetes API for work that must be done by the given time, if there is one. */
export const kubeBy = (
  { kube, urgentKube = kube }: Pick<ReaperDeps, 'kube' | 'urgentKube'>,
  deadlineMs: number | undefined,
): ReaperKube => (deadlineMs === undefined ? kube : urgentKube);

/** The name of the reaper as the sender of messages. */
export const source = 'reaper';

/** How the reaper speaks on the bus. */
export const channelOf = (
  deps: Pick<ReaperDeps, 'bus' | 'clock' | 'hash' | 'traces'>,
  config: Pick<ReaperConfig, 'clusterName'>,
): Channel => ({
  bus: deps.bus,
  clock: deps.clock,
  hash: deps.hash,
  cluster: config.clusterName,
  source,
  ...(deps.traces === undefined ? {} : { traces: deps.traces }),
});
