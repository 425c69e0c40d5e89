import { type Cluster, isWaiting } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';
import type { Clock, StopSignal, Vitals } from '@dovetail/core-ports';
import { aboutPod, type EventRecorder } from '@dovetail/service-kit';

import { missingVolumeKinds, volumesUnknown } from './unknown-volumes.js';

/** The mirror, and the outlet of the Events. */
export type VolumeWaitersDeps = {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly vitals: Vitals;
};

/** The pause between two looks: a right that is missing is missing for long. */
const lookMs = 120_000;
/** A look only reads the mirror. */
const lookMsMax = 60_000;
/** The most pods that are told at a look. It trades writes of Events for pods that hear later. */
const toldMax = 100;

/**
 * Tells pods that wait because they mount volumes and a kind that says where these may go is not
 * listed. pod-watcher mostly lacks the same right and plans no such pod, so no plan tells them.
 */
export class VolumeWaiters {
  readonly #deps: VolumeWaitersDeps;

  constructor(deps: VolumeWaitersDeps) {
    this.#deps = deps;
  }

  /** Looks until `stop`, for the first time after a pause: lists take a while. */
  async run(stop: StopSignal): Promise<void> {
    const { clock, vitals } = this.#deps;
    while (!stop.aborted) {
      await clock.sleep(lookMs, stop);
      if (!stop.aborted)
        await vitals.turn('volume-waiters', lookMsMax, () => Promise.resolve(this.#look()));
    }
  }

  #look(): void {
    const { cluster, events } = this.#deps;
    const missing = missingVolumeKinds(cluster);
    if (missing.length === 0) return;
    const waiting = [...cluster.pods.values()]
      .filter((pod) => pod.volumes.length > 0 && isWaiting(pod))
      .sort((a, b) => a.createdMs - b.createdMs || compareText(a.uid, b.uid));
    for (const pod of waiting.slice(0, toldMax)) {
      const why = volumesUnknown(pod, missing);
      if (why === undefined) continue;
      const message = `${why.message}. Remedy: ${why.remedy ?? ''}`;
      events.record({ about: aboutPod(pod), type: 'Warning', reason: 'VolumesUnknown', message });
    }
  }
}
