import { StatusError } from '../model/errors.js';
import { type SentObject, type StoredObject, timeText } from '../model/objects.js';
import type { KubeStore } from './store.js';

/** The content of an Event. */
export type EventNote = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
};

const keptMax = 4096;

/** Writes Events as Kubernetes' recorders do: a repeat raises the count of the first Event. */
export class EventRecorder {
  readonly #store: KubeStore;
  readonly #known = new Map<string, { namespace: string; name: string }>();

  constructor(store: KubeStore) {
    this.#store = store;
  }

  record(about: StoredObject, note: EventNote): void {
    const { uid, name, namespace = 'default' } = about.metadata;
    const key = `${uid}/${note.type}/${note.reason}/${note.component}/${note.message}`;
    const type = this.#store.type('', 'v1', 'events');
    const now = timeText(this.#store.clock.nowMs());
    const known = this.#known.get(key);
    const before = known === undefined ? undefined : this.#store.find(type, known);
    try {
      if (before !== undefined) {
        this.#store.update(type, {
          ...before.metadata,
          object: { ...before, count: Number(before['count'] ?? 1) + 1, lastTimestamp: now },
        });
        return;
      }
      const eventName = `${name}.${Math.floor(this.#store.state.random() * 2 ** 48)
        .toString(16)
        .padStart(12, '0')}`;
      this.#store.create(type, {
        namespace,
        object: this.#event(about, note, { name: eventName, namespace, now }),
      });
      if (this.#known.size >= keptMax) this.#known.clear();
      this.#known.set(key, { namespace, name: eventName });
    } catch (thrown) {
      // A namespace on its way out takes no events; nothing else depends on them.
      if (!(thrown instanceof StatusError)) throw thrown;
    }
  }

  #event(
    about: StoredObject,
    note: EventNote,
    at: { name: string; namespace: string; now: string },
  ): SentObject {
    const { uid, name, namespace, resourceVersion } = about.metadata;
    return {
      metadata: { name: at.name, namespace: at.namespace },
      involvedObject: {
        kind: about.kind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        uid,
        apiVersion: about.apiVersion,
        resourceVersion,
      },
      reason: note.reason,
      message: note.message,
      source: { component: note.component },
      firstTimestamp: at.now,
      lastTimestamp: at.now,
      count: 1,
      type: note.type,
      eventTime: null,
      reportingComponent: note.component,
      reportingInstance: '',
    };
  }
}
