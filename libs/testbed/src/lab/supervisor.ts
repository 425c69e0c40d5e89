import { setTimeout as delay } from 'node:timers/promises';

import type { RunningPart } from '../process/part.js';

/** The supervision of parts, until it is stopped. */
export type Supervisor = {
  /** Leaves this part alone until `release`. */
  hold(name: string): void;
  release(name: string): void;
  /** Ends supervision and waits for what is being started. */
  stop(): Promise<void>;
};

/** Starts parts again that have died, as a Deployment or systemd would. */
export function supervise(
  parts: ReadonlyMap<string, RunningPart>,
  progress: (line: string) => void,
): Supervisor {
  const stop = new AbortController();
  const starting = new Set<string>();
  const held = new Set<string>();
  const watch = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await Promise.all(
        [...parts]
          .filter(([name, part]) => !part.running && !starting.has(name) && !held.has(name))
          .map(async ([name, part]) => {
            starting.add(name);
            progress(`${name} has ended; starting it again`);
            await part
              .restart()
              .catch((error: unknown) => progress(`${name} did not start: ${String(error)}`));
            starting.delete(name);
          }),
      );
      await delay(100, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    hold: (name) => void held.add(name),
    release: (name) => void held.delete(name),
    async stop() {
      stop.abort();
      await watching;
    },
  };
}
