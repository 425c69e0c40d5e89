import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { countsOf } from '@dovetail/tools/stage';
import { filesOnRealParts } from '@dovetail/tools/stages';
import { trackedFiles } from '@dovetail/tools/workspace';
import { afterAll, describe, expect, test } from 'vitest';

/** How `make test` counts: the summary reporter in a run of its own, and the choice of files. */
const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'dovetail-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Plays one test file, and answers the counts of its output. */
async function played(text: string): Promise<ReturnType<typeof countsOf>> {
  const reporters = JSON.stringify([join(root, 'tools', 'summary-reporter.mjs')]);
  writeFileSync(join(folder, 'one.test.mjs'), text);
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { globals: true, include: ['*.test.mjs'], pool: 'forks', reporters: ${reporters} } };`,
  );
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--root', folder, '--config', join(folder, 'vitest.config.mjs')];
  const { VITEST: _own, ...inherited } = process.env;
  const env = { ...inherited, TEST_RESULTS: '', TEST_TIMES: '' };
  return await new Promise((resolve) =>
    execFile(process.execPath, args, { env, encoding: 'utf8' }, (_failed, out, err) =>
      resolve(countsOf(`${out}${err}`)),
    ),
  );
}

const fine = "test('is right', () => expect(1).toBe(1));";

describe('the last lines of a run', () => {
  test.each([
    ['cannot be read', `this is no JavaScript\n${fine}`],
    ['throws before its first test', `throw new Error('too soon');\n${fine}`],
    ['imports a package that is not there', `import 'not-there';\n${fine}`],
    ['has no test', 'export const nothing = 1;'],
    ['fails in a hook', `beforeAll(() => { throw new Error('no world'); });\n${fine}`],
    [
      'fails in a hook of a group',
      `describe('a group', () => { beforeAll(() => { throw new Error('no world'); }); ${fine} });`,
    ],
    [
      'fails in a hook of a group in a group',
      `describe('a', () => { describe('b', () => { beforeAll(() => { throw new Error('x'); }); ${fine} }); });`,
    ],
    ['fails in a hook at its end', `${fine} afterAll(() => { throw new Error('stays up'); });`],
    ['ends the process', `process.kill(process.pid, 'SIGKILL');\n${fine}`],
    ['ends the process in a test', "test('falls', () => process.kill(process.pid, 'SIGKILL'));"],
  ])('count and name a file that %s', async (_what, text) => {
    const { failed, skipped, failures } = await played(text);
    expect(failed).toBeGreaterThan(0);
    expect(skipped).toBe(0);
    expect(failures.join('\n')).toContain('FAILED: one.test.mjs');
  });

  test('count and name a test that fails, and count those that pass and are left out', async () => {
    const left = "test.skip('is left out', () => undefined);";
    const wrong = "test('is wrong', () => expect(1).toBe(2));";
    const counts = await played(`${fine}\n${left}\n${wrong}`);
    expect(counts).toMatchObject({ passed: 1, failed: 1, skipped: 1 });
    expect(counts.failures).toHaveLength(1);
    expect(counts.failures[0]).toContain('FAILED: one.test.mjs › is wrong');
  });
});

test('make test-real plays each file that says to be included there', () => {
  const chosen = filesOnRealParts();
  const saying = trackedFiles('tests/*.test.ts').filter((path) =>
    /support\/real-parts'|`make test-real` includes/.test(readFileSync(join(root, path), 'utf8')),
  );
  expect(saying).toContain('tests/e2e/handover.test.ts');
  // This file names the words, and plays nothing.
  const others = saying.filter((path) => !path.endsWith('/test-run.test.ts'));
  expect(others.filter((path) => !chosen.includes(path))).toEqual([]);
});
