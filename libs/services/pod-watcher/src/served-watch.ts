import type { Clock, KubeApi, KubeObject, KubeResource, Log, Metrics, StopSignal, WatchEvent } from '@dovetail/core-ports';

export type ServedWatchDeps = { readonly kube: KubeApi; readonly channel: { readonly clock: Clock }; readonly log: Log; readonly metrics: Metrics };

export type Watched<T> = { readonly resource: KubeResource; readonly project: (object: KubeObject) => T; readonly optional: boolean };

const lookAgainMs = 2_000;

/**
 * Watches a resource for as long as `stop` allows, also through the time in which the API server does not serve it (its
 * definition is not installed yet, or is being replaced). `absent` is called for an optional resource that is not served.
 */
export async function watchServed<T>(deps: ServedWatchDeps, watched: Watched<T>, stop: StopSignal, on: { readonly event: (event: WatchEvent<T>) => void; readonly absent: () => void }): Promise<void> {
  const { kube, channel, log } = deps;
  const { resource, project } = watched;
  let said = false;
  while (!stop.aborted) {
    try {
      if (await kube.serves(resource)) {
        said = false;
        for await (const event of kube.watch({ resource, project }, stop)) on.event(event);
      } else {
        if (!said) notServed(deps, watched);
        said = true;
        if (watched.optional) on.absent();
      }
    } catch (error) {
      log.warn('watch-failed', `watching ${resource.plural} failed: ${error instanceof Error ? error.message : String(error)}; trying again`, { resource: resource.plural });
    }
    await channel.clock.sleep(lookAgainMs, stop);
  }
}

function notServed({ log, metrics }: ServedWatchDeps, { resource, optional }: Watched<unknown>): void {
  const name = `${resource.plural}.${resource.group}`;
  if (optional) {
    log.info('resource-not-served', `the API server does not serve ${name}; there are none`, { resource: resource.plural });
    return;
  }
  metrics.count('dovetail_resource_not_served_total', { resource: resource.plural });
  log.error('resource-not-served', `the API server does not serve ${name}; apply deploy/crds. Waiting for it`, { resource: resource.plural });
}
