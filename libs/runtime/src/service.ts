import { setMaxListeners } from 'node:events';

import { SettingsError } from './settings.js';

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process at once. */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Every loop of a service listens to this signal.
  setMaxListeners(0, controller.signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      controller.abort();
      process.once(signal, () => process.exit(130));
    });
  }
  return controller.signal;
}

/**
 * Runs a program's main. An error becomes one readable message and an exit code; a wrong setting
 * never prints a bare stack.
 */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (error instanceof SettingsError) {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 64;
      return;
    }
    process.stderr.write(
      `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exitCode = 1;
  }
}
