import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  formatResource,
  formatResources,
  parseAmount,
  parseCpuMillis,
  parseResource,
  resourcesOf,
} from './index.js';

fc.configureGlobal({ seed: 1 });

describe('quantities', () => {
  test.each([
    ['1', 1000],
    ['100m', 100],
    ['0.1', 100],
    ['1.5', 1500],
    ['.5', 500],
    ['2.', 2000],
    ['1u', 1],
    ['0', 0],
    ['1e1', 10_000],
    ['1k', 1_000_000],
    [2, 2000],
    [0.25, 250],
    ['-1', -1000],
    ['1500u', 2],
  ])('%j of CPU is %i millicores', (text, millis) => expect(parseCpuMillis(text)).toBe(millis));
  test.each([
    ['1Ki', 1024],
    ['1.5Gi', 1_610_612_736],
    ['1G', 1_000_000_000],
    ['100m', 1],
    ['1e3', 1000],
    ['12E', 12e18],
    ['1Ei', 2 ** 60],
    ['128974848', 128_974_848],
    ['129e6', 129_000_000],
    ['123Mi', 128_974_848],
    [1e21, 1e21],
    ['0.5Ki', 512],
    ['+3', 3],
  ])('%j is the amount %d', (text, amount) => expect(parseAmount(text)).toBe(amount));
  test.each([
    '',
    'x',
    '1 Gi',
    '1gi',
    'Gi',
    '1Gi2',
    '.',
    '1ee3',
    '0x10',
    null,
    {},
    [],
    true,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '1e400',
    '-1e400',
    1e300,
    '9'.repeat(400),
    `${'9'.repeat(40)}Ki`,
  ])('%j is no quantity', (text) => {
    expect(parseAmount(text)).toBeUndefined();
    expect(parseCpuMillis(text)).toBeUndefined();
  });
  test.each([
    ['cpu', 1500, '1500m'],
    ['cpu', 2000, '2'],
    ['memory', 1_610_612_736, '1536Mi'],
    ['memory', 1001, '1001'],
    ['memory', 512e6, '512M'],
    ['memory', 1000, '1k'],
    ['memory', 4 * 1024 ** 3, '4Gi'],
    ['memory', 0, '0'],
    ['pods', 110, '110'],
    ['nvidia.com/gpu', 1024, '1024'],
    ['hugepages-2Mi', 2_097_152, '2Mi'],
  ])('%s of %i is written %s', (name, amount, text) =>
    expect(formatResource(name, amount)).toBe(text),
  );
  test('what is written reads back as the same amount', () =>
    fc.assert(
      fc.property(
        fc.constantFrom('cpu', 'memory', 'pods', 'ephemeral-storage'),
        fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        (name, amount) => parseResource(name, formatResource(name, amount)) === amount,
      ),
    ));
  test('a list that holds no quantity names the entry', () =>
    expect(resourcesOf({ cpu: '1', memory: '2Gib' })).toEqual({
      ok: false,
      name: 'memory',
      value: '2Gib',
    }));
  test('an absent list is empty', () =>
    expect(resourcesOf(undefined)).toEqual({ ok: true, value: {} }));
  test('a list is written by name', () =>
    expect(formatResources({ memory: 1024, cpu: 100 })).toEqual({ cpu: '100m', memory: '1Ki' }));
});
