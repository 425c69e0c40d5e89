import { inboxOf } from '@dovetail/contracts';
import type { StopSignal } from '@dovetail/core-ports';
import { systemClock } from '@dovetail/runtime';

import { busOf, type BusRequest, natsOptions } from './connection.js';
import { makeStreams, type StreamsRequest } from './streams.js';

type Output = Parameters<typeof makeStreams>[0]['output'];

/** Connects as the maker of streams, and makes them. Answers the exit code. */
export async function runStreams(
  request: BusRequest & StreamsRequest & { readonly replicas: number },
  output: Output,
  stop: StopSignal,
): Promise<number> {
  const options = natsOptions(request, 'dovetail nats-streams', output);
  if (options === undefined) return 64;
  const { cluster, replicas } = request;
  const inboxPrefix = inboxOf(cluster, 'streams');
  const { bus, close } = busOf({ ...options, replicas, inboxPrefix, makesStreams: true });
  try {
    return await makeStreams({ bus, clock: systemClock, output }, request, stop);
  } finally {
    await close();
  }
}
