import { setMaxListeners } from 'node:events';

import { type Log, messageOf, type Service, stackOf } from '@dovetail/core-ports';

import { SettingsError } from './settings.js';

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process at once. */
export function stopOnSignals(): AbortController {
  const controller = new AbortController();
  // Every loop of a service listens to this signal.
  setMaxListeners(0, controller.signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      controller.abort();
      process.once(signal, () => process.exit(130));
    });
  }
  return controller;
}

/** How long a failed service may take to close its connections before it is ended. */
const closingMsMax = 5_000;

/** A service in its process, with everything that ends with it. */
export type Running = {
  readonly service: Pick<Service, 'run'>;
  /** Closes the connections that were opened for the service. */
  readonly close: () => Promise<void>;
  readonly log: Log;
  /** Aborted when the service must stop. */
  readonly stopping: AbortController;
  /** Ends the process; a parameter so that tests survive it. */
  readonly exit: (code: number) => void;
};

/**
 * Runs a service to its end. A service that fails, or that returns though nothing stopped it, ends
 * the process with exit code 1 and one line in the log. A supervisor then starts it anew, and
 * another replica takes its Lease. Otherwise half of it would go on, alive to every probe.
 */
export async function runToEnd({ service, close, log, stopping, exit }: Running): Promise<void> {
  try {
    await service.run(stopping.signal);
    if (!stopping.signal.aborted) throw new Error('the service returned before it was stopped');
    await close();
  } catch (error) {
    log.error('service-failed', `the service failed and ends: ${messageOf(error)}`, {
      stack: stackOf(error),
    });
    stopping.abort();
    await atMost(closingMsMax, close());
    exit(1);
  }
}

/**
 * Ends the process with exit code 1 and one line in the log at an error that nothing caught. The
 * state after such an error is unknown, so nothing is closed first.
 */
export function exitOnUncaught(log: Log): void {
  const end = (name: string) => (error: unknown) => {
    log.error(name, `an error was not caught, the service ends: ${messageOf(error)}`, {
      stack: stackOf(error),
    });
    process.exit(1);
  };
  process.on('unhandledRejection', end('unhandled-rejection'));
  process.on('uncaughtException', end('uncaught-exception'));
}

/** 64 is EX_USAGE of sysexits, as for the commands of `dovetail`. */
const exitCodes = { settings: 64, failed: 1 } as const;

/**
 * Runs a program's main. An error becomes one readable message and an exit code; a wrong setting
 * never prints a bare stack. `exit` ends the process; by default it ends once nothing keeps it.
 */
export async function runMain(
  main: () => Promise<void>,
  exit: (code: number) => void = (code) => (process.exitCode = code),
): Promise<void> {
  try {
    await main();
  } catch (error) {
    const isSettings = error instanceof SettingsError;
    process.stderr.write(`${isSettings ? error.message : stackOf(error)}\n`);
    exit(isSettings ? exitCodes.settings : exitCodes.failed);
  }
}

/** Waits until the work has ended, well or not, but no longer than the limit. */
function atMost(durationMs: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    work.then(end, end);
  });
}
