import { type Clock, KubeError, type Log, type StopSignal } from '@dovetail/core-ports';

const retryFirstMs = 100;
const retryMaxMs = 5_000;

/** Limits the calls at once, and retries failed ones for as long as the caller wants. */
export class Gate {
  readonly #options: { readonly clock: Clock; readonly atOnce: number; readonly log?: Log };
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(options: { readonly clock: Clock; readonly atOnce: number; readonly log?: Log }) {
    this.#options = options;
  }

  /** Resolves when the call is done, pointless (its object is gone or replaced) or stopped. */
  async call(name: string, stop: StopSignal, work: () => Promise<void>): Promise<void> {
    for (let delayMs = retryFirstMs; !stop.aborted; delayMs = Math.min(retryMaxMs, delayMs * 2)) {
      if (await this.#attempt(name, stop, work)) return;
      await this.#options.clock.sleep(delayMs, stop);
    }
  }

  async #attempt(name: string, stop: StopSignal, work: () => Promise<void>): Promise<boolean> {
    await this.#enter();
    try {
      if (!stop.aborted) await work();
      return true;
    } catch (thrown) {
      if (!(thrown instanceof KubeError)) throw thrown;
      if (
        thrown.code === 'not-found' ||
        thrown.code === 'conflict' ||
        thrown.code === 'already-exists'
      )
        return true;
      this.#options.log?.warn(
        `agent-${name}-failed`,
        'The kubelet stand-in could not write and will try again.',
        { code: thrown.code, error: thrown.message },
      );
      return thrown.code === 'invalid';
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#inside < this.#options.atOnce) {
      this.#inside += 1;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** The place goes straight to the next in line. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }
}
