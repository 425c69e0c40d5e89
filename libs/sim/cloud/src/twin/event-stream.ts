import type { Timeline } from '../foundation/timeline.js';
import type { Machine } from './machine.js';

/**
 * A change in a machine's life. `booted`: the kubelet would now contact the API server, if
 * `machine.boot` joins. `stopping`: the machine goes down.
 */
export type CloudEvent = {
  readonly sequence: number;
  readonly atMs: number;
  readonly kind: 'launched' | 'running' | 'booted' | 'stopping' | 'ended';
  readonly machine: Machine;
};

const eventsKept = 10_000;

/** Calls every listener with each event, and keeps the latest ones. */
export class EventStream {
  readonly #timeline: Timeline;
  readonly #listeners = new Set<(event: CloudEvent) => void>();
  #kept: CloudEvent[] = [];
  #sequence = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** An error of a listener is the listener's bug: the process sees it, the twin does not. */
  tell(kind: CloudEvent['kind'], machine: Machine): void {
    this.#sequence += 1;
    const atMs = this.#timeline.nowMs();
    const event: CloudEvent = { sequence: this.#sequence, atMs, kind, machine };
    this.#kept.push(event);
    if (this.#kept.length > 2 * eventsKept) this.#kept = this.#kept.slice(-eventsKept);
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  subscribe(listener: (event: CloudEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Subscribes to the machines of one kind of event. */
  on(kind: CloudEvent['kind'], listener: (machine: Machine) => void): () => void {
    return this.subscribe((event) => {
      if (event.kind === kind) listener(event.machine);
    });
  }

  since(after: number): readonly CloudEvent[] {
    return this.#kept.filter((event) => event.sequence > after);
  }
}
