import { expect, test } from 'vitest';

import { binValue, optionOf } from '../testing/values.js';
import { reason } from './reason.js';
import { soundBin } from './sound-bin.js';
import { pool } from './testing/judging.js';

const bin = binValue('bin', [], { options: [optionOf('broken', 1), optionOf('whole', 2)] });
const few = reason('min-values', 'the pool wants two types', {});
const vainTypes = {
  usable: <T extends { readonly instanceType: string }>(_pool: unknown, options: readonly T[]) =>
    options.filter(({ instanceType }) => instanceType !== 'broken'),
};
const typesOf = (sound: ReturnType<typeof soundBin>) =>
  'broken' in sound ? sound.broken : sound.options.map(({ instanceType }) => instanceType);

test.each([
  ['loses a type that never became usable', 0, ['whole']],
  ['keeps it if it would break a rule without it', 2, ['broken', 'whole']],
  ['is refused for the rules that it breaks with it', 3, [few]],
])('a bin %s', (_what, least, expected) => {
  const sound = soundBin(bin, pool, {
    vainTypes,
    vainPools: { isFailing: () => false },
    broken: ({ options }) => (options.length < least ? [few] : []),
  });
  expect(typesOf(sound)).toEqual(expected);
});

test('a bin of a pool of which several types failed keeps them all', () => {
  const sound = soundBin(bin, pool, {
    vainTypes,
    vainPools: { isFailing: () => true },
    broken: () => [],
  });
  expect(typesOf(sound)).toEqual(['broken', 'whole']);
});
