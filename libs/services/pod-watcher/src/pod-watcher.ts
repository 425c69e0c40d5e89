import type { DebugState, Epoch, Readiness, Service } from '@dovetail/core-ports';
import { untilDone } from '@dovetail/service-kit';

import type { PodWatcherConfig, PodWatcherDeps } from './config.js';
import { PodWatcherEpoch } from './epoch.js';
import { sourcesFor } from './sources.js';

/**
 * The pod-watcher. While it leads, it publishes the cluster's state and cuts pending pods into
 * batches. Two replicas run and one leads. The other keeps no state, because the state feed holds
 * it all.
 */
export function createPodWatcher(deps: PodWatcherDeps, config: PodWatcherConfig): Service {
  let isLeading = false;
  let current: PodWatcherEpoch | undefined;
  const lead = async (epoch: Epoch): Promise<void> => {
    isLeading = true;
    try {
      const version = await untilDone(
        { clock: deps.channel.clock, log: deps.log },
        'the version of Kubernetes',
        () => deps.kube.serverVersion(),
        epoch.stop,
      );
      if (version === undefined) return;
      current = new PodWatcherEpoch(deps, config, epoch, sourcesFor(version));
      await current.run();
    } finally {
      current = undefined;
      isLeading = false;
    }
  };
  return {
    run: (stop) => deps.leadership.run(stop, lead),
    ready: (): Readiness => ({
      bus: deps.channel.bus.connected(),
      kubernetes: deps.connection.answered(),
      // A replica that does not lead has nothing to catch up with.
      watches: !isLeading || (current?.synced ?? false),
    }),
    debugState: (): DebugState => ({
      leading: deps.leadership.held(),
      epoch: deps.leadership.epoch(),
      ...current?.debugState(),
    }),
  };
}
