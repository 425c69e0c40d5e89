import { afterAll, afterEach, describe, expect, jest, test } from '@jest/globals';

import { runMain } from './service.js';
import { SettingsError } from './settings.js';

describe('the end of a main', () => {
  const written: string[] = [];
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
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
