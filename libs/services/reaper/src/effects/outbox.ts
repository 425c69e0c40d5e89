import type { Clock, StopSignal } from '@dovetail/core-ports';
import { Nap } from '../loop/nap.js';

/** Something to say on the bus. */
export type Letter = { readonly key: string; readonly send: () => Promise<unknown>; /** After this it is not worth saying any more. */ readonly untilMs?: number };

export type OutboxOptions = {
  readonly clock: Clock;
  /** The most that wait; beyond it the oldest are dropped. */
  readonly waitingMax: number;
  readonly retryMs: number;
  readonly onError: (key: string, error: unknown) => void;
  readonly onDropped: (count: number) => void;
};

/** What is said on the bus without anything waiting for it: in order, again and again until it is heard. A later letter of the same key replaces an earlier one. */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #nap: Nap;
  #waiting: Letter[] = [];

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#nap = new Nap(options.clock);
  }

  add(letter: Letter): void {
    this.#waiting = [...this.#waiting.filter(({ key }) => key !== letter.key), letter];
    const over = this.#waiting.length - this.#options.waitingMax;
    if (over > 0) this.#options.onDropped(this.#waiting.splice(0, over).length);
    this.#nap.wake();
  }

  waiting(): number { return this.#waiting.length; }

  async run(stop: StopSignal): Promise<void> {
    const { clock, retryMs, onError } = this.#options;
    while (!stop.aborted) {
      const [next] = this.#waiting;
      if (next === undefined) {
        await this.#nap.rest(3_600_000, stop);
        continue;
      }
      const late = next.untilMs !== undefined && next.untilMs <= clock.nowMs();
      try {
        if (!late) await next.send();
        this.#waiting = this.#waiting.filter((one) => one !== next);
      } catch (error) {
        onError(next.key, error);
        await clock.sleep(retryMs, stop);
      }
    }
  }
}
