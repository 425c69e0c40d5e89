import type { StopSignal } from '@dovetail/core-ports';

/** Waiters that are woken together. */
export class Wakeup {
  #waiting = new Set<() => void>();

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }

  /** Resolves at the next `wake`, or when `stop` is aborted. */
  wait(stop: StopSignal): Promise<void> {
    if (stop.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        stop.removeEventListener('abort', end);
        resolve();
      };
      this.#waiting.add(end);
      stop.addEventListener('abort', end, { once: true });
    });
  }
}

/**
 * Runs with a signal that is aborted when `stop` is, or when the run ends. Waits that the run
 * leaves behind then end too.
 */
export async function withScope<T>(
  stop: StopSignal,
  run: (scope: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortController();
  const end = (): void => scope.abort();
  stop.addEventListener('abort', end, { once: true });
  if (stop.aborted) end();
  try {
    return await run(scope.signal);
  } finally {
    stop.removeEventListener('abort', end);
    end();
  }
}
