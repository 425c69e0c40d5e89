import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decisionKinds } from '@dovetail/contracts';
import { describe, expect, test } from '@jest/globals';

/** The pages that repeat what the code says, and the links between pages. */
const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--', ...patterns], { cwd: root, encoding: 'utf8' }).split('\n').filter((path) => path !== '' && existsSync(join(root, path)));
const sources = filesOf('libs/services/*.ts').filter((path) => !path.includes('.test.') && !path.includes('/testing/'));
const found = (pattern: RegExp): readonly string[] => [...new Set(sources.flatMap((path) => [...read(path).matchAll(pattern)].map(([, name]) => name ?? '')))].toSorted();
const page = read('docs/reference/events-and-metrics.md');
const rowsOf = (text: string): readonly string[] => [...text.matchAll(/^\| `((?:karpenter|dovetail)_\w+)`/gm)].map(([, name]) => name ?? '').toSorted();

describe('what the pages say is what the code says', () => {
  test('every metric has its row, and no row is left over', () => expect(rowsOf(page)).toEqual(found(/'((?:karpenter|dovetail)_[a-z_]+)'/g)));
  test.each(found(/events\.(?:tell|write)\(\{[^\n]*reason: '([A-Za-z]+)'/g).map((reason) => [reason]))('the Event %s is explained', (reason) => expect(page).toContain(`\`${reason}\``));
  test.each(decisionKinds.map((kind) => [kind]))('the decision %s is explained', (kind) => expect(page).toContain(`| \`${kind}\` |`));
  test('the settings are those of --help', () => {
    execFileSync(process.execPath, ['tools/settings-reference.mjs', '--check'], { cwd: root, encoding: 'utf8' });
  });
});

describe('links in the pages lead somewhere', () => {
  const pages = filesOf('*.md');
  const links = pages.flatMap((path) => [...read(path).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => [path, target ?? ''] as const)).filter(([, target]) => !/^[a-z]+:/.test(target));
  test.each(links)('%s → %s', (path, target) => expect(existsSync(join(root, dirname(path), target))).toBe(true));
});
