import {
  type KubeApi,
  type KubeDiscovery,
  KubeError,
  type KubeErrorCode,
  type KubeObject,
  type KubeReads,
  type KubeResource,
  type KubeWatches,
  type KubeWrites,
  type ObjectRef,
  type PodBindings,
  type PodEvictions,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';

import { isNoSuchPath, noSuchPath, StatusError } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import { servedVersion } from '../model/served-resources.js';
import type { ResourceType } from '../store/registry.js';
import type { RemoveOptions } from '../store/remove.js';
import type { KubeStore } from '../store/store.js';
import type { WatchMessage } from '../store/watch.js';

function codeOf(error: StatusError): KubeErrorCode {
  switch (error.code) {
    case 403:
    case 401:
      return 'denied';
    case 404:
      return isNoSuchPath(error) ? 'no-such-resource' : 'not-found';
    case 409:
      return error.reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    case 410:
      return 'gone';
    case 429:
      return 'too-many-requests';
    case 500:
    case 503:
      return 'unavailable';
    default:
      return 'invalid';
  }
}

/** The port's error for an answer of the API server; anything else stays as it is. */
function kubeErrorOf(error: unknown): unknown {
  if (!(error instanceof StatusError)) return error;
  const retryAfterSeconds = error.details?.retryAfterSeconds;
  return new KubeError(codeOf(error), `${error.reason}: ${error.message}`, {
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** The events of one watch that nobody took yet, in the order of the changes. */
class EventQueue<T> {
  readonly #waiting: WatchEvent<T>[] = [];
  #wake: (() => void) | undefined;

  push(event: WatchEvent<T>): void {
    this.#waiting.push(event);
    this.#wake?.();
  }

  wake(): void {
    this.#wake?.();
  }

  async *drain(stop: StopSignal): AsyncIterable<WatchEvent<T>> {
    while (!stop.aborted) {
      const events = this.#waiting.splice(0);
      for (const event of events) {
        if (stop.aborted) return;
        yield event;
      }
      if (events.length === 0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      this.#wake = undefined;
    }
  }
}

type WatchOptions<T> = {
  resource: KubeResource;
  project: (object: KubeObject) => T;
  fieldSelector?: string;
  labelSelector?: string;
};

function eventOf<T>(message: WatchMessage, project: (object: KubeObject) => T): WatchEvent<T> {
  if (message.type !== 'DELETED') return { kind: 'set', value: project(message.object) };
  const { uid, name, namespace } = message.object.metadata;
  return { kind: 'gone', uid, name, ...(namespace === undefined ? {} : { namespace }) };
}

async function* watchStore<T>(
  store: KubeStore,
  type: ResourceType,
  options: WatchOptions<T>,
  stop: StopSignal,
): AsyncIterable<WatchEvent<T>> {
  const queue = new EventQueue<T>();
  const selection = {
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
  };
  const end = store.watch(type, selection, (message) =>
    queue.push(eventOf(message, options.project)),
  );
  queue.push({ kind: 'synced' });
  const wake = (): void => queue.wake();
  stop.addEventListener('abort', wake, { once: true });
  try {
    yield* queue.drain(stop);
  } finally {
    end();
    stop.removeEventListener('abort', wake);
  }
}

const withoutUndefined = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

/** Runs the work in a later turn, as a real call would, and throws the port's errors. */
async function later<T>(work: () => T): Promise<T> {
  await Promise.resolve();
  try {
    return work();
  } catch (thrown) {
    throw kubeErrorOf(thrown);
  }
}

/** The result of the work, or `instead` when the object does not exist. */
function orNotFound<T>(work: () => T, instead: T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof StatusError && codeOf(thrown) === 'not-found') return instead;
    throw thrown;
  }
}

type DeleteOptions = {
  uid?: string;
  gracePeriodSeconds?: number;
  propagation?: 'Background' | 'Foreground' | 'Orphan';
};

type Eviction = { namespace: string; name: string; uid: string; gracePeriodSeconds?: number };

const findType = (store: KubeStore, resource: KubeResource): ResourceType | undefined =>
  store.registry.find(resource.group, resource.version, resource.plural);

function typeOf(store: KubeStore, resource: KubeResource): ResourceType {
  const type = findType(store, resource);
  if (type === undefined) throw noSuchPath();
  return type;
}

async function* watch<T>(
  store: KubeStore,
  options: WatchOptions<T>,
  stop: StopSignal,
): AsyncIterable<WatchEvent<T>> {
  try {
    yield* watchStore(store, typeOf(store, options.resource), options, stop);
  } catch (thrown) {
    throw kubeErrorOf(thrown);
  }
}

const readsOf = (store: KubeStore): KubeWatches & KubeReads & KubeDiscovery => ({
  watch: (options, stop) => watch(store, options, stop),
  list: (resource, options = {}) => later(() => store.list(typeOf(store, resource), options).items),
  get: (ref) => {
    const find = (): StoredObject | undefined => store.get(typeOf(store, ref.resource), ref);
    return later(() => orNotFound(find, undefined));
  },
  serves: (resource) => later(() => findType(store, resource) !== undefined),
  serverVersion: () =>
    later(() => ({ major: Number(servedVersion.major), minor: Number(servedVersion.minor) })),
});

/** Leaves the object alone when it is gone, or when another of the same name took its place. */
function deleteObject(store: KubeStore, ref: ObjectRef, options: DeleteOptions): void {
  const type = typeOf(store, ref.resource);
  const found = store.find(type, ref);
  if (found === undefined) return;
  if (options.uid !== undefined && found.metadata.uid !== options.uid) return;
  store.delete(type, ref, withoutUndefined(options));
}

const writesOf = (store: KubeStore): KubeWrites => ({
  create: (resource, object) => {
    const { namespace } = object.metadata;
    return later(() => store.create(typeOf(store, resource), { namespace, object }));
  },
  replace: (resource, object, options = {}) => {
    const { namespace, name } = object.metadata;
    const target = { namespace, name, object };
    return later(() => store.update(typeOf(store, resource), target, withoutUndefined(options)));
  },
  patch: (ref, patch, options = {}) =>
    later(() =>
      store.patch(typeOf(store, ref.resource), { ...ref, patch }, withoutUndefined(options)),
    ),
  delete: (ref, options = {}) => later(() => deleteObject(store, ref, options)),
});

function evict(store: KubeStore, pod: Eviction): 'evicted' | 'gone' {
  const found = store.get(store.type('', 'v1', 'pods'), pod);
  if (found.metadata.uid !== pod.uid) return 'gone';
  const { uid, gracePeriodSeconds } = pod;
  store.evict(pod, withoutUndefined({ uid, gracePeriodSeconds }) as RemoveOptions);
  return 'evicted';
}

const podPortsOf = (store: KubeStore): PodEvictions & PodBindings => ({
  evict: (pod) => later(() => orNotFound<'evicted' | 'gone'>(() => evict(store, pod), 'gone')),
  bind: (pod, nodeName) => later(() => store.bind(pod, nodeName)),
});

/**
 * The Kubernetes ports directly on a store, with the same rules and errors as over HTTP. Every call
 * resolves in a later turn, as a real one would.
 */
export const inProcessKube = (store: KubeStore): KubeApi => ({
  ...readsOf(store),
  ...writesOf(store),
  ...podPortsOf(store),
});
