import type { Channel, StateKind, StateValue } from '@dovetail/contracts';
import { nodeClaimOf } from '@dovetail/core-api';
import { EqualParts, isBound, nodeOf, podOf } from '@dovetail/core-kube-model';
import { Stopper } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import { FeedMirror } from '@dovetail/service-kit';

import { claimManifest, type ClusterSize, nodeManifest, podManifest } from './manifests.js';
import type { Measure } from './measure.js';
import { valueOf } from './world.js';

const kinds: readonly StateKind[] = ['pod', 'node', 'claim'];
const quiet = (): void => undefined;

/** A bus that takes every message and keeps none. */
function takingChannel(): Channel {
  let sequence = 0;
  const bus: Pick<Channel['bus'], 'publish'> = {
    publish: () =>
      Promise.resolve({ stream: 'state', sequence: (sequence += 1), duplicate: false }),
  };
  return {
    // Nothing else of the bus is called as long as each publish is taken.
    bus: bus as Channel['bus'],
    cluster: 'bench',
    source: 'pod-watcher',
    clock: systemClock,
    hash: systemHash,
  };
}

/** Pod-watcher's books of the state feed, and their comparison of each second. */
export async function measurePodWatcher(size: ClusterSize, measure: Measure): Promise<void> {
  const feed = new FeedMirror({
    channel: takingChannel(),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    metrics: { count: quiet, set: quiet, remove: quiet, observe: quiet },
    epoch: 1,
    kinds,
  });
  const stop = new Stopper();
  feed.heard({ kind: 'caught-up', position: { incarnation: 'bench', lastSequence: 0 } });
  const running = feed.run(stop);
  const parts = new EqualParts();
  const pod = parts.reading(podOf, isBound);
  const node = parts.reading(nodeOf);
  const claim = parts.reading(nodeClaimOf);
  const pods = size.nodes * size.podsPerNode;
  const tell = async (what: string, number: number, stateOf: StateOf): Promise<void> => {
    for (let index = 0; index < number; index += 1) {
      const state = stateOf(index);
      feed.set(state.value.uid, state);
      if (index % 1_000 === 0) await published(feed, stop);
    }
    await published(feed, stop);
    measure.grew(what, number);
  };
  await tell('pods', pods, (index) => {
    const raw = podManifest(index, Math.floor(index / size.podsPerNode));
    return { kind: 'pod', value: valueOf(pod(raw)) };
  });
  await tell('nodes', size.nodes, (index) => {
    return { kind: 'node', value: valueOf(node(nodeManifest(index))) };
  });
  await tell('claims', size.nodes, (index) => {
    return { kind: 'claim', value: valueOf(claim(claimManifest(index, size))) };
  });
  measure.pass('comparison of the feed', 5, () => feed.reconcile({ complete: () => true }));
  stop.abort();
  await running;
}

type StateOf = (index: number) => Extract<StateValue, { kind: 'pod' | 'node' | 'claim' }>;

async function published(feed: FeedMirror, stop: Stopper): Promise<void> {
  while (!feed.settled) await systemClock.sleep(1, stop);
}
