import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';

import { exitOnUncaught, runMain, runToEnd } from './service.js';
import { SettingsError } from './settings.js';

describe('the end of a main', () => {
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  afterAll(() => write.mockRestore());
  afterEach(() => {
    written.length = 0;
    process.exitCode = undefined;
  });

  test.each<[string, Error | undefined, number | undefined, RegExp]>([
    ['without an error is quiet', undefined, undefined, /^$/],
    ['with wrong settings is one message', new SettingsError('--x is 7'), 64, /^--x is 7\n$/],
    ['with any other error is its stack', new Error('boom'), 1, /^Error: boom\n +at /],
  ])('%s', async (_what, error, code, text) => {
    await runMain(() => (error === undefined ? Promise.resolve() : Promise.reject(error)));
    expect(process.exitCode).toBe(code);
    expect(written.join('')).toMatch(text);
  });
});

describe('the end of a service', () => {
  type End = { readonly exits: number[]; readonly closed: number; readonly lines: string[] };

  const endOf = async (run: (stop: AbortController) => Promise<void>): Promise<End> => {
    const [exits, lines]: [number[], string[]] = [[], []];
    const quiet = (): void => undefined;
    const error = (name: string, message: string): void => void lines.push(`${name}: ${message}`);
    const stopping = new AbortController();
    let closed = 0;
    await runToEnd({
      service: { run: () => run(stopping) },
      close: () => Promise.resolve(void (closed += 1)),
      log: { debug: quiet, info: quiet, warn: quiet, error },
      stopping,
      exit: (code) => void exits.push(code),
    });
    return { exits, closed, lines };
  };

  test('after a stop closes its connections and exits by itself', async () => {
    const end = await endOf((stopping) => Promise.resolve(stopping.abort()));
    expect(end).toEqual({ exits: [], closed: 1, lines: [] });
  });

  test.each<[string, () => Promise<void>, string]>([
    [
      'that failed exits with 1 and says why',
      () => Promise.reject(new Error('boom')),
      'service-failed: the service failed and ends: boom',
    ],
    [
      'that returned unasked exits with 1',
      () => Promise.resolve(),
      'service-failed: the service failed and ends: the service returned before it was stopped',
    ],
  ])('%s', async (_what, run, line) => {
    expect(await endOf(run)).toEqual({ exits: [1], closed: 1, lines: [line] });
  });

  test('stops the loops that go on beside the one that failed', async () => {
    let stopped = false;
    await endOf((stopping) => {
      stopping.signal.addEventListener('abort', () => (stopped = true));
      return Promise.reject(new Error('one loop failed'));
    });
    expect(stopped).toBe(true);
  });
});

test.each(['unhandledRejection', 'uncaughtException'] as const)(
  'an error that nothing caught (%s) ends the process with 1 and a line in the log',
  (event) => {
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    const lines: string[] = [];
    const quiet = (): void => undefined;
    const error = (name: string, message: string): void => void lines.push(`${name}: ${message}`);
    const listeners = (): readonly ((thrown: unknown) => void)[] =>
      process.listeners(event as 'uncaughtException') as ((thrown: unknown) => void)[];
    const before = listeners();
    exitOnUncaught({ debug: quiet, info: quiet, warn: quiet, error });
    try {
      for (const listener of listeners())
        if (!before.includes(listener)) listener(new Error('lost'));
      expect(lines).toEqual([
        `${event === 'uncaughtException' ? 'uncaught-exception' : 'unhandled-rejection'}: an error was not caught, the service ends: lost`,
      ]);
      expect(exit.mock.calls).toEqual([[1]]);
    } finally {
      exit.mockRestore();
      for (const name of ['unhandledRejection', 'uncaughtException'])
        for (const listener of process.listeners(name as 'uncaughtException').slice(-1))
          process.removeListener(name, listener);
    }
  },
);
