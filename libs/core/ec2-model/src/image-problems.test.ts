import { expect, test } from 'vitest';

import { imageProblems } from './image-problems.js';

test.each<[string, number, number]>([
  ['al2@latest', 33, 1],
  ['AL2@v20250101', 34, 1],
  ['al2@latest', 32, 0],
  ['al2023@latest', 34, 0],
  ['bottlerocket@latest', 34, 0],
])('%s with Kubernetes 1.%i has %i problems', (alias, minor, count) => {
  const problems = imageProblems({ amiSelectorTerms: [{ alias }] }, { major: 1, minor });
  expect(problems.map(({ field }) => field)).toEqual(
    Array.from({ length: count }, () => 'spec.amiSelectorTerms[0].alias'),
  );
});

test('images that are named by id have no problem', () =>
  expect(imageProblems({ amiSelectorTerms: [{ id: 'ami-1' }] }, { major: 1, minor: 34 })).toEqual(
    [],
  ));
