import type { ParseFailure } from '@dovetail/core-kube-model';
import type { Log, Metrics } from '@dovetail/core-ports';

/** An object that a watch has shown. */
export type SeenObject = { readonly kind: string; readonly name: string; readonly uid: string };

/**
 * The objects that exist and cannot be read, by UID. Each is logged (`object-unreadable`) and
 * counted once, and again when its fault changes. A watch shows the same object many times.
 */
export class UnreadableObjects {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #faults = new Map<string, string>();

  constructor({ log, metrics }: { readonly log: Log; readonly metrics: Metrics }) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Reports an object that cannot be read, with the field, its value and the remedy. */
  report(object: SeenObject, failure: Omit<ParseFailure, 'ok'>): void {
    const { field, value, remedy } = failure;
    const fault = `${field} is ${value}: ${remedy}`;
    if (this.#faults.get(object.uid) === fault) return;
    this.#faults.set(object.uid, fault);
    const { kind, name } = object;
    this.#metrics.count('dovetail_unreadable_objects_total', { kind });
    this.#log.warn('object-unreadable', `${kind} ${name}: ${fault}`, { kind, name, field, value });
  }

  /** The object can be read now, or is gone. */
  forget(uid: string): void {
    this.#faults.delete(uid);
  }

  has(uid: string): boolean {
    return this.#faults.has(uid);
  }

  /** Fault by UID, for /debug/state. */
  faults(): ReadonlyMap<string, string> {
    return this.#faults;
  }
}
