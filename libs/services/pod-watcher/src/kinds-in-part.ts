import type { StateKind } from '@dovetail/contracts';
import { volumeKinds } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import type { StopSignal } from '@dovetail/core-ports';

import type { PodWatcherDeps } from './config.js';
import type { Intake } from './intake.js';
import type { Parts } from './parts.js';

/**
 * How long batches wait for the kinds that not every pod needs, in milliseconds. Lists take
 * seconds. After a longer wait a right is probably missing. A shorter one would plan a group
 * without its pods with volumes while a large list is still being read.
 */
const patienceMs = 30_000;

/** No new node depends on a PodDisruptionBudget. */
const unneeded: readonly StateKind[] = ['pdb'];
const needsVolumes: readonly StateKind[] = volumeKinds;

const waiting = {
  none: 'no pod is planned',
  'without-volumes': 'no pod with volumes is planned',
  all: 'objects that are gone stay in the state feed',
} as const;

/** Tells which pods may be planned while not every watch has shown all its objects. */
export class KindsInPart {
  readonly #deps: Pick<PodWatcherDeps, 'channel' | 'log'>;
  readonly #parts: Pick<Parts, 'wake'>;
  readonly #intake: Pick<Intake, 'incomplete' | 'unsynced'>;
  #isLate = false;

  constructor(
    deps: Pick<PodWatcherDeps, 'channel' | 'log'>,
    parts: Pick<Parts, 'wake'>,
    intake: Pick<Intake, 'incomplete' | 'unsynced'>,
  ) {
    this.#deps = deps;
    this.#parts = parts;
    this.#intake = intake;
  }

  /** Ends the wait for kinds that not every pod needs, and logs which are missing then. */
  async run(stop: StopSignal): Promise<void> {
    const { channel, log } = this.#deps;
    await channel.clock.sleep(patienceMs, stop);
    const { unsynced } = this.#intake;
    if (stop.aborted || unsynced.length === 0) return;
    this.#isLate = true;
    log.warn(
      'waiting-for-watches',
      `${waiting[this.#planned()]} while the first lists of ${unsynced.join(', ')} are missing; let pod-watcher list and watch them, as the chart's ClusterRole does`,
      { unsynced },
    );
    this.#parts.wake.raise();
  }

  /**
   * The pods that may be planned now; undefined: none. All kinds are waited for at first. Later,
   * only pods with volumes wait for the kinds that say where these may go.
   */
  plannable(): ((pod: Pod) => boolean) | undefined {
    const planned = this.#planned();
    if (planned === 'none') return undefined;
    return planned === 'all' ? () => true : ({ volumes }) => volumes.length === 0;
  }

  #planned(): 'none' | 'without-volumes' | 'all' {
    const { incomplete } = this.#intake;
    if (incomplete.size === 0) return 'all';
    const missing = [...incomplete].filter((kind) => !unneeded.includes(kind));
    if (!this.#isLate || !missing.every((kind) => needsVolumes.includes(kind))) return 'none';
    return missing.length === 0 ? 'all' : 'without-volumes';
  }
}
