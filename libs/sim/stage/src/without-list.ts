import type { Clock, KubeApi, KubeResource, StopSignal } from '@dovetail/core-ports';

/** The API server and the clock of a stage, and the signal at which it ends. */
type Parts = {
  readonly kube: KubeApi;
  readonly clock: Clock;
  readonly stop: { readonly signal: StopSignal };
};

/** Longer than any stage lasts, in milliseconds. */
const neverMs = 1e9;

/**
 * The API server of a stage, of whose objects of one kind the first list never ends: as for a
 * client that may not list them, or beside an aggregated API that hangs.
 */
export function withoutList({ kube, clock, stop }: Parts, resource: KubeResource): KubeApi {
  async function* never(): AsyncIterable<never> {
    await clock.sleep(neverMs, stop.signal);
    yield* [];
  }
  return Object.assign(Object.create(kube) as KubeApi, {
    watch: ((options, until) =>
      options.resource === resource
        ? never()
        : kube.watch(options, until)) satisfies KubeApi['watch'],
  });
}
