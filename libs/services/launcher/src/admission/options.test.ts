import { plainTypeValue } from '@dovetail/core-ec2-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { optionOf } from '../testing/values.js';
import {
  amountOf,
  availableNow,
  largestUse,
  type LimitRoom,
  withinLimits,
  withinPriceCap,
} from './options.js';

describe('options of a bin', () => {
  const types = new Map(
    [
      plainTypeValue('small', 2000),
      plainTypeValue('large', 8000),
      plainTypeValue('empty', 2000, { available: false }),
    ].map((type) => [type.name, type]),
  );
  const names = (left: ReturnType<typeof availableNow>): readonly string[] | string =>
    left.ok ? left.options.map((option) => option.instanceType) : left.reason.code;
  const all = [
    optionOf('small', 1),
    optionOf('large', 4),
    optionOf('empty', 1),
    optionOf('unknown', 1),
  ];

  test('only what has capacity now is left', () =>
    expect(names(availableNow(all, types))).toEqual(['small', 'large']));
  test('none of it left refuses the bin', () =>
    expect(names(availableNow([optionOf('empty', 1)], types))).toBe('no-offering'));
  test.each([
    ['no cap keeps all', undefined, ['small', 'large']],
    ['a cap keeps what costs no more', 1, ['small']],
    ['a cap under the cheapest refuses the bin', 0, 'price-cap'],
  ] as const)('%s', (_sentence, most, expected) =>
    expect(
      names(
        withinPriceCap([optionOf('small', 1), optionOf('large', 4)], {
          key: 'NodePool/a',
          ...(most === undefined ? {} : { maxPriceMicrosPerHour: most }),
        }),
      ),
    ).toEqual(expected),
  );

  const room = (change: Partial<LimitRoom>): LimitRoom => ({
    key: 'NodePool/a',
    remaining: {},
    reservedForLater: {},
    laterBins: 0,
    ...change,
  });
  test.each([
    ['without limits all are left', room({}), ['small', 'large']],
    [
      'the largest that fits may be launched',
      room({ remaining: { cpu: 8000 } }),
      ['small', 'large'],
    ],
    ['what could pass the limit is dropped', room({ remaining: { cpu: 7999 } }), ['small']],
    ['nothing fits: refused', room({ remaining: { cpu: 1999 } }), 'pool-limit'],
    [
      'later bins of the plan keep room for their cheapest',
      room({ remaining: { cpu: 9999 }, reservedForLater: { cpu: 2000 }, laterBins: 1 }),
      ['small'],
    ],
    [
      'room beyond that is shared',
      room({ remaining: { cpu: 16_000 }, reservedForLater: { cpu: 2000 }, laterBins: 1 }),
      ['small', 'large'],
    ],
    ['a limit of nodes counts nodes', room({ remaining: { nodes: 1 } }), ['small', 'large']],
    ['and ends with them', room({ remaining: { nodes: 0 } }), 'pool-limit'],
  ] as const)('%s', (_sentence, limits, expected) =>
    expect(
      names(withinLimits([optionOf('small', 1), optionOf('large', 4)], types, limits)),
    ).toEqual(expected),
  );
  test('never pass the limit, whichever of them EC2 picks', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 0, max: 5 }),
        (remaining, reserved, laterBins) => {
          const left = withinLimits(
            [optionOf('small', 1), optionOf('large', 4)],
            types,
            room({ remaining: { cpu: remaining }, reservedForLater: { cpu: reserved }, laterBins }),
          );
          if (left.ok)
            expect(largestUse(left.options, types, ['cpu'])['cpu']).toBeLessThanOrEqual(remaining);
          else expect(remaining).toBeLessThan(2000);
        },
      ),
    ));
});

describe('the use of a limit', () => {
  test.each([
    ['a limited resource that the type lacks is not used', 'nvidia.com/gpu', 0],
    ['every node is one of nodes', 'nodes', 1],
    ['a resource is used by capacity, not by what is allocatable', 'cpu', 2000],
  ])('%s', (_sentence, resource, amount) =>
    expect(amountOf(plainTypeValue('small', 2000), resource)).toBe(amount),
  );
  test('of several options is the largest, and nothing without types', () => {
    const types = new Map([['small', plainTypeValue('small', 2000)]]);
    expect(largestUse([optionOf('small', 1), optionOf('unknown', 1)], types, ['cpu'])).toEqual({
      cpu: 2000,
    });
    expect(largestUse([], types, ['cpu'])).toEqual({ cpu: 0 });
  });
});
