import { arrowsOf, knotsOf } from '@dovetail/tools/stairs';
import { workspacePackages } from '@dovetail/tools/workspace';
import { describe, expect, test } from 'vitest';

/**
 * Folders of a library have an order, so that a reader of the lower ones can read the next. Types
 * count as imports.
 */
const libraries = workspacePackages().filter(({ folder }) => /^(libs|apps)\//.test(folder));

describe('no folders need each other in a circle', () => {
  test.each(libraries.map((each) => [each.name, each] as const))('in %s', (_name, library) => {
    expect(knotsOf(arrowsOf(library))).toEqual([]);
  });
});

describe('a knot', () => {
  const arrows = (pairs: Readonly<Record<string, readonly string[]>>) =>
    new Map(Object.entries(pairs).map(([from, to]) => [from, new Set(to)] as const));

  test.each([
    ['of two', { 'a/': ['b/'], 'b/': ['a/'], 'c/': ['a/'] }, [['a/', 'b/']]],
    ['through a third', { 'a/': ['b/'], 'b/': ['c/'], 'c/': ['a/'] }, [['a/', 'b/', 'c/']]],
    ['between a folder and a file above it', { 'a/': ['x.ts'], 'x.ts': ['a/'] }, [['a/', 'x.ts']]],
    ['is not where all arrows point one way', { 'a/': ['b/', 'c/'], 'b/': ['c/'], 'c/': [] }, []],
  ])('%s', (_what, pairs, knots) => {
    expect(knotsOf(arrows(pairs))).toEqual(knots);
  });
});
