import { compareText } from '@dovetail/core-kube-model';
import type { Clock, StopSignal } from '@dovetail/core-ports';

/**
 * Gathers ids for a moment, so that many askers become one call. Each asker gets the answer of the
 * call that its id was part of, or its error.
 */
export class Gathered<R> {
  readonly #clock: Clock;
  readonly #gatherMs: number;
  readonly #call: (ids: readonly string[]) => Promise<R>;
  #ids = new Set<string>();
  #next: Promise<R> | undefined;

  constructor(clock: Clock, gatherMs: number, call: (ids: readonly string[]) => Promise<R>) {
    this.#clock = clock;
    this.#gatherMs = gatherMs;
    this.#call = call;
  }

  ask(id: string, stop: StopSignal): Promise<R> {
    this.#ids.add(id);
    this.#next ??= this.#gather(stop);
    return this.#next;
  }

  async #gather(stop: StopSignal): Promise<R> {
    await this.#clock.sleep(this.#gatherMs, stop);
    const ids = [...this.#ids].sort(compareText);
    this.#ids = new Set();
    this.#next = undefined;
    return this.#call(ids);
  }
}
