import {
  KubeError,
  type KubeObject,
  type KubeResource,
  kubeResources,
  type Patch,
  Stopper,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';

import type { ReaperDeps } from './deps.js';

type ReaperKube = ReaperDeps['kube'];

/** Objects that a watch gives in one turn of the event loop, as the watches of the services do. */
const together = 50;

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/**
 * An API server without a network that costs next to nothing, so that what holds the event loop is
 * the reaper's. It counts the calls; watches are none.
 */
export class StandingKube {
  readonly #objects: ReadonlyMap<string, KubeObject[]>;
  readonly #watchers = new Map<string, Set<(object: KubeObject) => void>>();
  readonly calls = new Map<string, number>();

  constructor(objects: ReadonlyMap<string, KubeObject[]>) {
    this.#objects = objects;
  }

  readonly api: ReaperKube = {
    watch: (options, stop) => this.#watch(options, stop),
    list: (resource, { fieldSelector } = {}) =>
      this.#called('list', resource, () => this.#of(resource).filter(selected(fieldSelector))),
    get: (ref) =>
      this.#called('get', ref.resource, () =>
        this.#of(ref.resource).find(({ metadata }) => metadata.name === ref.name),
      ),
    create: (resource, object) => this.#called('create', resource, () => object),
    patch: (ref, patch) =>
      this.#called('patch', ref.resource, () => {
        const at = this.#of(ref.resource).findIndex(({ metadata }) => metadata.name === ref.name);
        const before = this.#of(ref.resource)[at];
        if (before === undefined) throw new KubeError('not-found', `there is no ${ref.name}`);
        return this.change(ref.resource, at, patch);
      }),
    delete: (ref) => this.#called('delete', ref.resource, () => undefined),
    evict: () => this.#called('evict', kubeResources.pods, () => 'evicted' as const),
    serves: ({ group }) => Promise.resolve(group !== 'karpenter.k8s.aws'),
    serverVersion: () => Promise.resolve({ major: 1, minor: 35 }),
  };

  /** The object at an index of its kind. */
  at(resource: KubeResource, at: number): KubeObject | undefined {
    return this.#of(resource)[at];
  }

  /** Changes the object at an index of its kind, and shows it to the watches. */
  change(resource: KubeResource, at: number, { body }: Patch): KubeObject {
    const objects = this.#of(resource);
    const merged = merge(objects[at] ?? {}, body) as KubeObject;
    const version = String(Number(merged.metadata.resourceVersion ?? '0') + 1);
    const after = { ...merged, metadata: { ...merged.metadata, resourceVersion: version } };
    objects[at] = after;
    for (const watcher of this.#watchers.get(resource.plural) ?? []) watcher(after);
    return after;
  }

  #of({ plural }: KubeResource): KubeObject[] {
    return this.#objects.get(plural) ?? [];
  }

  async #called<T>(verb: string, resource: KubeResource, work: () => T): Promise<T> {
    const name = `${verb} ${resource.plural}`;
    this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
    await nextTurn();
    return work();
  }

  async *#watch<T>(
    { resource, project }: { resource: KubeResource; project: (object: KubeObject) => T },
    stop: StopSignal,
  ): AsyncIterable<WatchEvent<T>> {
    const waiting: KubeObject[] = [...this.#of(resource)];
    const watchers = this.#watchers.get(resource.plural) ?? new Set();
    this.#watchers.set(resource.plural, watchers);
    let wake = (): void => undefined;
    watchers.add((object) => {
      waiting.push(object);
      wake();
    });
    new Stopper(stop).addEventListener('abort', () => wake());
    let isSynced = false;
    while (!stop.aborted) {
      for (const object of waiting.splice(0, together))
        yield { kind: 'set', value: project(object) };
      if (waiting.length > 0) await nextTurn();
      else if (!isSynced) {
        isSynced = true;
        yield { kind: 'synced' };
      } else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

/** Pods by their node, the one selector that the reaper lists by. */
function selected(fieldSelector: string | undefined): (object: KubeObject) => boolean {
  const [, nodeName] = /^spec\.nodeName=(.+)$/.exec(fieldSelector ?? '') ?? [];
  if (nodeName === undefined) return () => true;
  return ({ spec }) => (spec as { readonly nodeName?: string }).nodeName === nodeName;
}

/** A merge patch (RFC 7386). */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}
