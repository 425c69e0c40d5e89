import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/** Statements of the pages that the code can refute: values, conditions, and named tests. */
const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns: readonly string[]): readonly string[] =>
  execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: root, encoding: 'utf8' },
  )
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)));
const pages = filesOf('README.md', 'CONTRIBUTING.md', 'docs/*.md');
const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name);
const compatibility = read('docs/reference/compatibility.md');

type Form = { readonly pattern?: string };
const forms = Object.assign(
  {},
  ...Object.values(JSON.parse(read('deploy/helm/dovetail/files/settings.json')) as object),
) as Readonly<Record<string, Form>>;

describe('what a page says, the code does', () => {
  test.each(pages)('%s gives each setting a value that its service takes', (page) => {
    const given = [...read(page).matchAll(/\b([A-Z][A-Z_]+)=([\w.]+)/g)];
    const refused = given.filter(([, name = '', value = '']) => {
      const { pattern } = forms[name] ?? {};
      return pattern !== undefined && !new RegExp(pattern).test(value);
    });
    expect(refused.map(([text]) => text)).toEqual([]);
  });

  test.each(pages)('%s names no test that is not there', (page) => {
    const tests = filesOf('*.test.ts');
    const named = found(read(page), /`((?:[\w.-]+\/)*[\w.-]+\.test\.ts)`/g);
    expect(
      named.filter((name) => !tests.some((path) => path === name || path.endsWith(`/${name}`))),
    ).toEqual([]);
  });

  test('no service writes a condition that is said not to be written', () => {
    const [, section = ''] = compatibility.split('\n## Statuses that are not written\n');
    const names = found(section.split('\n## ', 1).join(''), /`(?:status\.)?(\w+)`/g);
    expect(names).not.toEqual([]);
    const sources = filesOf('libs/services/*.ts', 'libs/core/*.ts').filter(
      (path) => !/\.test\.ts$|\/testing\//.test(path),
    );
    const literal = new RegExp(`'(${names.join('|')})'`, 'g');
    expect(sources.flatMap((path) => found(read(path), literal))).toEqual([]);
  });

  test('each row that says "the same" of Karpenter names a test', () => {
    const rows = found(compatibility, /^\| (.* \| the same\b.*) \|$/gm);
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter((row) => !/\.test\.ts`|tests\/stories\//.test(row))).toEqual([]);
  });

  test('each page that lists ways of consolidation knows all of them', () => {
    const { pattern = '' } = forms['CONSOLIDATION'] ?? {};
    const ways = pattern.replaceAll(/[^\w|]/g, '').split('|');
    expect(ways).toContain('search');
    const lists = pages.flatMap((page) =>
      found(read(page), /(`CONSOLIDATION=\w+` or `\w+`)/g).map((list) => `${page}: ${list}`),
    );
    expect(lists).toEqual([]);
  });
});
