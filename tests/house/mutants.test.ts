import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { mutants, planted, rowOf } from '@dovetail/tools/mutants';
import { trackedFiles } from '@dovetail/tools/workspace';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

test.each(mutants.map((mutant) => [mutant.means, mutant] as const))(
  'the mistake by which %s can be planted in one place, and tests look for it',
  (_means, mutant) => {
    const text = readFileSync(join(root, mutant.place), 'utf8');
    expect(planted(text, mutant)).not.toBe(text);
    const isTest = (path: string): boolean => path.endsWith('.test.ts');
    expect(trackedFiles(`${mutant.tests}*`).filter(isTest)).not.toEqual([]);
  },
);

test('each mistake was planted in the run that is kept, and a test noticed it', () => {
  const page = readFileSync(join(root, 'tests', 'results', 'mutants.md'), 'utf8');
  expect(page).not.toContain('**nobody**');
  const missing = mutants.filter((mutant) => !page.includes(rowOf(mutant)));
  expect(missing.map(({ means }) => `${means}: npm run mutants`)).toEqual([]);
});
