import { connectNatsReader } from '@dovetail/adapter-nats/reader';
import { followState, type StateEvent, type StateKind } from '@dovetail/contracts';
import type { StopSignal } from '@dovetail/core-ports';

import { type BusAddress, connectionOf, hash } from './address.js';

/** Where the state feed is, and which kinds of it to read. */
export type StateSource = BusAddress & {
  /** Only these kinds. Absent: all. */
  readonly kinds?: readonly StateKind[];
};

/**
 * Follows the cluster as the services see it: the last value of each object, then `caught-up`, then
 * changes. It needs the rights of the user `console`, because the feed names every pod and node.
 *
 * ```ts
 * import { clusterState } from '@dovetail/client';
 *
 * const stop = new AbortController();
 * for await (const event of clusterState({ cluster: 'lab', kinds: ['node'] }, stop.signal)) {
 *   if (event.kind === 'record') console.log(event.record);
 * }
 * ```
 */
export async function* clusterState(
  source: StateSource,
  stop: StopSignal,
): AsyncGenerator<StateEvent> {
  const { kinds, ...address } = source;
  const bus = connectNatsReader(connectionOf(address, 'console'));
  try {
    const reader = { bus, cluster: source.cluster, hash };
    yield* followState(reader, stop, kinds === undefined ? {} : { kinds });
  } finally {
    await bus.close();
  }
}
