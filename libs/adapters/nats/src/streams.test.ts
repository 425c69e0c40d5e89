import { expect, test } from 'vitest';

import { replicasOf } from './streams.js';

test.each<[string, number | undefined, number, number]>([
  ['a new stream gets what is wanted', undefined, 3, 3],
  ['a stream gets more', 1, 3, 3],
  ['a stream that has more keeps them', 3, 1, 3],
])('%s', (_, held, wanted, expected) =>
  expect(
    replicasOf(held === undefined ? undefined : { config: { num_replicas: held } }, wanted),
  ).toBe(expected),
);
