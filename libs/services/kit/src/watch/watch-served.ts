import { anotherProviderOf } from '@dovetail/core-api';
import {
  type Clock,
  type KubeDiscovery,
  type KubeObject,
  type KubeResource,
  kubeResources,
  type KubeWatches,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';

/** The API to watch, and the means to tell of its failures. */
export type WatchDeps = {
  readonly kube: KubeWatches & Pick<KubeDiscovery, 'serves'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** A resource to watch, and the function that reads its objects while they stream in. */
export type Watched<T> = {
  readonly resource: KubeResource;
  readonly project: (object: KubeObject) => T;
  /** A cluster need not serve it (a legacy API). Then it has no such objects, which is no fault. */
  readonly optional: boolean;
};

/** The receiver of the changes of one resource. */
export type WatchHandler<T> = {
  readonly event: (event: WatchEvent<T>) => void;
  /** Called each time that the API server turns out not to serve an optional resource. */
  readonly absent: () => void;
};

/**
 * Pause before a watch that ended begins again, and before the API server is asked again whether it
 * serves a resource. A longer pause delays the first objects of a definition that was just
 * installed. A shorter one asks an idle API server more often, with one small request per resource.
 */
const againMs = 2_000;

/**
 * Watches a resource until `stop`. It goes on through times in which the API server does not serve
 * the resource, because its definition is missing or being replaced. It asks before every watch.
 * NodePools and NodeClaims of other providers are not shown: no service reads or writes them.
 *
 * A missing resource is logged once as `resource-not-served`. One that is not optional is also
 * counted.
 */
export async function watchServed<T>(
  deps: WatchDeps,
  watched: Watched<T>,
  handler: WatchHandler<T>,
  stop: StopSignal,
): Promise<void> {
  const { kube, clock } = deps;
  const { resource } = watched;
  let isMissing = false;
  while (!stop.aborted) {
    try {
      const isServed = await kube.serves(resource);
      if (!isServed && !isMissing) reportMissing(deps, watched);
      isMissing = !isServed;
      if (isServed)
        for await (const event of kube.watch({ resource, project: ours(watched) }, stop))
          handler.event(withoutForeign(event));
      else if (watched.optional) handler.absent();
    } catch (error) {
      if (stop.aborted) return;
      reportFailure(deps, resource, error);
    }
    await clock.sleep(againMs, stop);
  }
}

/** An object that another provider looks after. */
class Foreign {
  readonly metadata: KubeObject['metadata'];
  constructor({ metadata }: KubeObject) {
    this.metadata = metadata;
  }
}

/** Reads an object only if it is ours to read. Only the kinds of Karpenter's group are shared. */
function ours<T>({ resource, project }: Watched<T>): (object: KubeObject) => T | Foreign {
  if (resource.group !== kubeResources.nodeClaims.group) return project;
  return (object) =>
    anotherProviderOf(object) === undefined ? project(object) : new Foreign(object);
}

/** An object of another provider is gone, for us. */
function withoutForeign<T>(event: WatchEvent<T | Foreign>): WatchEvent<T> {
  if (event.kind !== 'set') return event;
  const { value } = event;
  if (!(value instanceof Foreign)) return { kind: 'set', value };
  const { uid = '', name } = value.metadata;
  return { kind: 'gone', uid, name };
}

function reportFailure({ log, metrics }: WatchDeps, resource: KubeResource, error: unknown): void {
  metrics.count('dovetail_watch_errors_total', { resource: resource.plural });
  log.warn(
    'watch-failed',
    `watching ${resource.plural} failed: ${messageOf(error)}; trying again`,
    { resource: resource.plural },
  );
}

function reportMissing({ log, metrics }: WatchDeps, watched: Watched<unknown>): void {
  const { plural, group } = watched.resource;
  const fields = { resource: plural };
  const missing = `the API server does not serve ${plural}.${group}`;
  if (watched.optional) {
    log.info('resource-not-served', `${missing}; the cluster has no such objects`, fields);
    return;
  }
  metrics.count('dovetail_resource_not_served_total', fields);
  log.error('resource-not-served', `${missing}; apply deploy/crds. Waiting for it`, fields);
}
