import { describe, expect, test } from 'vitest';

import { closest, closestOffered, editDistance } from './hints.js';

describe('edits between two words', () => {
  test.each<[string, string, number]>([
    ['', '', 0],
    ['zone', 'zone', 0],
    ['zone', 'zones', 1],
    ['amd64', 'arm64', 2],
    ['amd64', 'amd46', 1],
    ['kitten', 'sitting', 3],
    ['', 'abc', 3],
  ])('%j and %j are %d apart, in both directions', (a, b, distance) => {
    expect(editDistance(a, b, 10)).toBe(distance);
    expect(editDistance(b, a, 10)).toBe(distance);
  });

  test('are not counted when the lengths alone differ by more than asked for', () => {
    expect(editDistance('a', 'abcdef', 2)).toBe(3);
  });
});

describe('the closest known word', () => {
  test.each<[string, readonly string[], string | undefined]>([
    ['us-east-1a', ['us-east-1b', 'eu-west-1a'], 'us-east-1b'],
    ['ARM64', ['arm64'], 'arm64'],
    ['gpu', ['memory', 'cpu'], 'cpu'],
    ['zone-x', ['region'], undefined],
    ['zone', ['zone'], undefined],
    ['zone', [], undefined],
  ])('to %j among %j is %j', (word, known, expected) => {
    expect(closest(word, known)).toBe(expected);
  });

  test('is the first by name of those that are equally close', () => {
    expect(closest('zone-c', ['zone-b', 'zone-a'])).toBe('zone-a');
  });
});

describe('the offered value that was probably meant', () => {
  test.each<[string, string, readonly string[], string | undefined]>([
    ['In [arm6]', 'In [amd64, arm64]', [], 'arm64'],
    ['In [us-east-1z]', 'In [us-east-1a]', [], 'us-east-1a'],
    ['In [amd64]', 'In [amd64, arm64]', [], undefined],
    ['Exists', 'In [amd64]', [], undefined],
    ['In [c5.larg]', 'label not defined', ['c5.large'], 'c5.large'],
  ])('for %s where %s is offered, and %j known', (wanted, offered, known, expected) => {
    expect(closestOffered({ key: 'key', wanted, offered }, known)).toBe(expected);
  });
});
