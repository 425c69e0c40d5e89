import type { Clock } from '@dovetail/core-ports';

import { type ServiceName, serviceNames } from './services.js';

/**
 * When something last kept a service from its work. Some laws hold only for services that are left
 * to it: a reaper that is dead obeys no notice.
 */
export class Troubles {
  readonly #clock: Clock;
  readonly #lastMs = new Map<ServiceName, number>();
  /** Services that are in trouble until further notice, by what troubles them. */
  readonly #lasting = new Map<string, readonly ServiceName[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A moment of trouble. */
  note(service: ServiceName): void {
    this.#lastMs.set(service, this.#clock.nowMs());
  }

  /** Trouble that lasts until `end`. */
  begin(what: string, services: readonly ServiceName[] = serviceNames): void {
    this.#lasting.set(what, services);
  }

  end(what: string): void {
    for (const service of this.#lasting.get(what) ?? []) this.note(service);
    this.#lasting.delete(what);
  }

  /** Whether the service was in trouble at some time since then. */
  since(service: ServiceName, sinceMs: number): boolean {
    return (
      [...this.#lasting.values()].some((services) => services.includes(service)) ||
      (this.#lastMs.get(service) ?? -Infinity) >= sinceMs
    );
  }
}
