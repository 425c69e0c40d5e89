import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/**
 * One word for each concept: the glossary names types that exist, and dropped synonyms stay
 * dropped.
 */
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

const sources = filesOf('libs/*.ts', 'apps/*.ts').map((path) => ({ path, text: read(path) }));
const declaration = /^\s*(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type) (\w+)/gm;
const declared = new Map<string, string[]>();
for (const { path, text } of sources)
  for (const [, name = ''] of text.matchAll(declaration))
    declared.set(name, [...(declared.get(name) ?? []), path]);

const words = read('docs/glossary.md').split('\n## ')[0] ?? '';
const rows = [...words.matchAll(/^\| \*\*(.+?)\*\* \| (.+) \|$/gm)].map(
  ([, word = '', meaning = '']) => ({ word, meaning }),
);
const named = rows.flatMap(({ word, meaning }) =>
  [...meaning.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => [word, name] as const),
);

/** Names that no type or class may have, and the word to use. */
const banned: readonly (readonly [name: string, instead: string])[] = [
  ['Term', 'Epoch'],
  ['Leading', 'LauncherEpoch'],
  ['Launching', 'Launch'],
  ['Placing', 'Placement'],
  ['Promising', 'a noun'],
  ['Tagging', 'InstanceTagger'],
  ['Finalizing', 'a noun'],
  ['Reaping', 'a noun'],
  ['Telling', 'a noun'],
  ['KubeEvents', 'EventRecorder'],
  ['Tour', 'ReaperEpoch'],
  ['Watching', 'PodWatcherEpoch'],
  ['Nap', 'Wake'],
  ['Latch', 'Wake'],
  ['Looks', 'WorkQueue'],
  ['Letter', 'a noun that says what it is'],
  ['Voids', 'a noun that says what it is'],
  ['Loose', 'a noun that says what it is'],
  ['ClosedDoors', 'ClosedNodes'],
  ['Choices', 'RandomNumbers, OfferLists'],
];
/** Names that are allowed in these folders only. */
const reserved: readonly (readonly [name: string, folders: readonly string[]])[] = [
  ['World', ['libs/core/scheduling/']],
];
/** File and folder names that say nothing. */
const emptyNames = /(?:^|\/)(?:utils?|helpers?|common|misc)(?:\.[^/]*)?(?:\/|$)/;

describe('one word for each concept', () => {
  test('the glossary has words, in alphabetical order, and each once', () => {
    const found = rows.map(({ word }) => word.toLowerCase());
    expect(found.length).toBeGreaterThan(20);
    expect(found).toEqual([...new Set(found)].toSorted());
  });
  test.each(named)('%s names the type %s, which exists', (_word, name) =>
    expect(declared.has(name)).toBe(true),
  );
  test.each(banned)('nothing is called %s: the word is %s', (name) =>
    expect(declared.get(name) ?? []).toEqual([]),
  );
  test.each(reserved)('%s is a word of %s only', (name, folders) =>
    expect(
      (declared.get(name) ?? []).filter((path) => !folders.some((own) => path.startsWith(own))),
    ).toEqual([]),
  );
  test('no source file has a name that says nothing', () =>
    expect(
      filesOf('libs/*.ts', 'apps/*.ts', 'tools/*.ts').filter((path) => emptyNames.test(path)),
    ).toEqual([]));
});
