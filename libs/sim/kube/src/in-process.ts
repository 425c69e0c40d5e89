import { KubeError, type KubeApi, type KubeErrorCode, type KubeObject, type KubeResource, type ObjectRef, type StopSignal, type WatchEvent } from '@dovetail/core-ports';
import { isNoSuchPath, noSuchPath, StatusError } from './errors.js';
import type { Stored } from './model.js';
import { servedVersion } from './served.js';
import type { ResourceType } from './store/registry.js';
import type { KubeStore } from './store/store.js';
import type { WatchMessage } from './store/watch.js';

function codeOf(error: StatusError): KubeErrorCode {
  switch (error.code) {
    case 403: case 401: return 'denied';
    case 404: return isNoSuchPath(error) ? 'no-such-resource' : 'not-found';
    case 409: return error.reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    case 410: return 'gone';
    case 429: return 'too-many-requests';
    case 500: case 503: return 'unavailable';
    default: return 'invalid';
  }
}

/** The port's error for what the API server answered. */
export function kubeErrorOf(error: unknown): unknown {
  if (!(error instanceof StatusError)) return error;
  const retryAfterSeconds = error.details?.retryAfterSeconds;
  return new KubeError(codeOf(error), `${error.reason}: ${error.message}`, { cause: error, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
}

/** Events of one watch, waiting to be taken; `set` and `gone` in the order of the changes. */
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
      if (events.length === 0) await new Promise<void>((resolve) => { this.#wake = resolve; });
      this.#wake = undefined;
    }
  }
}

type WatchOptions<T> = { resource: KubeResource; project: (object: KubeObject) => T; fieldSelector?: string; labelSelector?: string };

function eventOf<T>(message: WatchMessage, project: (object: KubeObject) => T): WatchEvent<T> {
  if (message.type !== 'DELETED') return { kind: 'set', value: project(message.object) };
  const { uid, name, namespace } = message.object.metadata;
  return { kind: 'gone', uid, name, ...(namespace === undefined ? {} : { namespace }) };
}

async function* watchStore<T>(store: KubeStore, type: ResourceType, options: WatchOptions<T>, stop: StopSignal): AsyncIterable<WatchEvent<T>> {
  const queue = new EventQueue<T>();
  const selection = {
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
  };
  const end = store.watch(type, selection, (message) => queue.push(eventOf(message, options.project)));
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

const withoutUndefined = <T extends object>(options: T): T => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;

/**
 * The KubeApi port straight on a store: no HTTP, no processes, the same rules and errors. Every call resolves in a later
 * turn, as a real one would.
 */
export function inProcessKube(store: KubeStore): KubeApi {
  const typeOf = (resource: KubeResource): ResourceType => {
    const type = store.registry.find(resource.group, resource.version, resource.plural);
    if (type === undefined) throw noSuchPath();
    return type;
  };
  const later = async <T>(work: () => T): Promise<T> => {
    await Promise.resolve();
    try {
      return work();
    } catch (thrown) {
      throw kubeErrorOf(thrown);
    }
  };
  const orNotFound = <T>(work: () => T, instead: T): T => {
    try {
      return work();
    } catch (thrown) {
      if (thrown instanceof StatusError && thrown.code === 404 && codeOf(thrown) === 'not-found') return instead;
      throw thrown;
    }
  };
  const find = (ref: ObjectRef): Stored | undefined => orNotFound<Stored | undefined>(() => store.get(typeOf(ref.resource), ref), undefined);
  return {
    watch: (options, stop) => watchOrThrow(store, () => typeOf(options.resource), options, stop),
    list: (resource, options = {}) => later(() => store.list(typeOf(resource), options).items),
    get: (ref) => later(() => find(ref)),
    create: (resource, object) => later(() => store.create(typeOf(resource), { namespace: object.metadata.namespace, object: object })),
    replace: (resource, object, options = {}) =>
      later(() => store.update(typeOf(resource), { namespace: object.metadata.namespace, name: object.metadata.name, object: object }, withoutUndefined(options))),
    patch: (ref, patch, options = {}) => later(() => store.patch(typeOf(ref.resource), { ...ref, patch }, withoutUndefined(options))),
    delete: (ref, options = {}) => later(() => deleteOrLeave(store, typeOf(ref.resource), ref, withoutUndefined(options))),
    evict: (pod) => later(() => orNotFound<'evicted' | 'gone'>(() => evictOrGone(store, pod), 'gone')),
    bind: (pod, nodeName) => later(() => store.bind(pod, nodeName)),
    serves: (resource) => later(() => store.registry.find(resource.group, resource.version, resource.plural) !== undefined),
    serverVersion: () => later(() => ({ major: Number(servedVersion.major), minor: Number(servedVersion.minor) })),
  };
}

async function* watchOrThrow<T>(store: KubeStore, type: () => ResourceType, options: WatchOptions<T>, stop: StopSignal): AsyncIterable<WatchEvent<T>> {
  try {
    yield* watchStore(store, type(), options, stop);
  } catch (thrown) {
    throw kubeErrorOf(thrown);
  }
}

function evictOrGone(store: KubeStore, pod: { namespace: string; name: string; uid: string; gracePeriodSeconds?: number }): 'evicted' | 'gone' {
  const found = store.get(store.type('', 'v1', 'pods'), pod);
  if (found.metadata.uid !== pod.uid) return 'gone';
  store.evict(pod, { uid: pod.uid, ...(pod.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: pod.gracePeriodSeconds }) });
  return 'evicted';
}

/** Gone already, or replaced by another of the same name: either way there is nothing left to delete. */
function deleteOrLeave(store: KubeStore, type: ResourceType, ref: ObjectRef, options: { uid?: string; gracePeriodSeconds?: number; propagation?: 'Background' | 'Foreground' | 'Orphan' }): void {
  const found = store.find(type, ref);
  if (found === undefined || (options.uid !== undefined && found.metadata.uid !== options.uid)) return;
  store.delete(type, ref, options);
}
