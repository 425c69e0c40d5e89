import { deadLetterSpec, streamName } from '@dovetail/contracts';
import type { BusConnection, Service, StreamAdmin } from '@dovetail/core-ports';
import { untilDone } from '@dovetail/service-kit';

import { type LineDeps, SinkLine } from './deliver/sink-line.js';
import type { SinkSpec } from './sink-spec.js';

/** The means of the sinks. */
export type SinksDeps = LineDeps & {
  readonly reader: { readonly bus: BusConnection & StreamAdmin };
};

/**
 * The sinks of one cluster. Each has a consumer of its own, so one whose receiver is away holds up
 * none of the others. Nothing waits for them: no service knows that they are there.
 */
export function createSinks(deps: SinksDeps, specs: readonly SinkSpec[]): Service {
  const { bus, cluster } = deps.reader;
  const lines = new Map(specs.map((spec) => [spec.name, new SinkLine(deps, spec)]));
  let isReady = false;
  return {
    async run(stop) {
      await untilDone(
        deps,
        `the stream ${streamName(cluster, 'deadletters')}`,
        () => bus.ensureStreams([deadLetterSpec(cluster)]),
        stop,
      );
      isReady = true;
      await Promise.all([...lines.values()].map((line) => line.run(stop)));
      for (const { receiver } of specs) receiver.close();
    },
    // A receiver that is away makes the sinks no less ready: they wait for it.
    ready: () => ({ bus: bus.connected(), streams: isReady }),
    debugState: () =>
      Object.fromEntries([...lines].map(([name, { debugState }]) => [name, debugState])),
  };
}
