import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { scratchDir } from '../testing/scratch.js';
import { type Installation, installOnce } from './cache.js';

const cacheDir = scratchDir();
let fills = 0;

const job = (name: string, more: Partial<Installation> = {}): Installation => ({
  cacheDir,
  name,
  deadlineMs: 5_000,
  log: () => undefined,
  isGood: async (folder) =>
    (await readFile(join(folder, 'program'), 'utf8').catch(() => '')) === 'whole',
  fill: async (folder) => {
    fills += 1;
    await writeFile(join(folder, 'program'), 'whole');
  },
  ...more,
});

test('of several that want the same at once one does the work', async () => {
  fills = 0;
  const folders = await Promise.all(Array.from({ length: 5 }, () => installOnce(job('tool'))));
  expect(new Set(folders)).toEqual(new Set([join(cacheDir, 'tool')]));
  expect(fills).toBe(1);
});

test('a damaged folder is replaced', async () => {
  mkdirSync(join(cacheDir, 'damaged'));
  writeFileSync(join(cacheDir, 'damaged', 'program'), 'half');
  const folder = await installOnce(job('damaged'));
  expect(readFileSync(join(folder, 'program'), 'utf8')).toBe('whole');
});

test('the lock of a dead process does not hold anybody up', async () => {
  const pidThatCannotBe = 2 ** 30;
  writeFileSync(join(cacheDir, 'stale.lock'), String(pidThatCannotBe));
  await installOnce(job('stale'));
});

test('the lock of a living process does, and the error names it', async () => {
  writeFileSync(join(cacheDir, 'busy.lock'), String(process.ppid));
  await expect(installOnce(job('busy', { deadlineMs: 50 }))).rejects.toThrow(/busy\.lock/);
});

test('the draft of a process that was killed is removed by the next one', async () => {
  mkdirSync(join(cacheDir, 'resumed.draft-1'));
  await installOnce(job('resumed'));
  expect(readdirSync(cacheDir).filter((name) => name.startsWith('resumed'))).toEqual(['resumed']);
});

test('a failed fill leaves no folder and no lock behind', async () => {
  const fill = () => Promise.reject(new Error('no network'));
  await expect(installOnce(job('failing', { fill }))).rejects.toThrow('no network');
  expect(readdirSync(cacheDir).filter((name) => name.startsWith('failing'))).toEqual([]);
});
