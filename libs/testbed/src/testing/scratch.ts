import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

import { isUnavailable, type Unavailable } from '../index.js';

/** A folder that is removed after the test file. */
export function scratchDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-test-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Prints which test is left out, and why. Returns true if it must be. */
export function leftOut<T extends object>(
  what: string,
  obtained: T | Unavailable,
): obtained is Unavailable {
  if (!isUnavailable(obtained)) return false;
  process.stdout.write(`LEFT OUT: ${what}: ${obtained.unavailable.split('\n', 1)[0]}\n`);
  return true;
}
