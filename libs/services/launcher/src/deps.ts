import type { ChannelBus } from '@dovetail/contracts';
import type {
  BusConnection,
  Clock,
  EksClusters,
  Fleets,
  Hash,
  ImageDiscovery,
  InstanceCatalog,
  InstanceProfiles,
  Instances,
  InstanceTags,
  KubeCreates,
  KubeDeletes,
  KubeDiscovery,
  KubePatches,
  KubeReads,
  KubeWatches,
  LaunchTemplates,
  Leadership,
  Log,
  Metrics,
  NetworkDiscovery,
  PodBindings,
  Prices,
  ScrapedMetrics,
  StreamAdmin,
  Traces,
  UserDataRenderer,
  Vitals,
} from '@dovetail/core-ports';

/** Everything outside that the launcher reaches, each through its port. */
export type LauncherDeps = {
  readonly kube: KubeWatches &
    KubeReads &
    KubeCreates &
    KubePatches &
    KubeDeletes &
    PodBindings &
    KubeDiscovery;
  readonly cloud: InstanceCatalog &
    Prices &
    NetworkDiscovery &
    ImageDiscovery &
    EksClusters &
    LaunchTemplates &
    Fleets &
    Instances &
    InstanceTags &
    InstanceProfiles;
  readonly bus: ChannelBus & StreamAdmin & BusConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scraped: ScrapedMetrics;
  readonly hash: Hash;
  readonly leadership: Leadership;
  readonly userData: UserDataRenderer;
  /** Watches over the turns of the loops. */
  readonly vitals: Vitals;
  /** Where spans of traces go. Absent: nothing is traced. */
  readonly traces?: Traces;
};
