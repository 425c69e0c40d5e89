import { compareText } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { isOlder, Table } from './table.js';

type Row = { readonly uid: string; readonly resourceVersion: string; readonly key?: string };
const tableOf = (): Table<Row, 'key'> => new Table<Row, 'key'>({ key: (row) => row.key }, {});
const row = (uid: string, resourceVersion: string, key?: string): Row => ({
  uid,
  resourceVersion,
  ...(key === undefined ? {} : { key }),
});

describe('a version is older', () => {
  test.each<[string, string, string, boolean]>([
    ['when its number is smaller', '9', '10', true],
    ['beyond safe integers', '9007199254740993', '9007199254740994', true],
    ['beyond 64 bits', '99999999999999999999998', '99999999999999999999999', true],
    ['with leading zeros', '0009', '10', true],
  ])('%s', (_when, left, right, older) => expect(isOlder(left, right)).toBe(older));

  test.each<[string, string, string]>([
    ['never than itself', '10', '10'],
    ['never when its number is larger', '10', '9'],
    ['never when it is opaque', 'a1', 'a2'],
    ['never than an opaque one', '1', 'x'],
    ['never when it is empty', '', '1'],
    ['never when it is negative or signed', '-1', '+2'],
    ['never than itself with leading zeros', '1', '01'],
  ])('%s', (_when, left, right) => expect(isOlder(left, right)).toBe(false));

  test('exactly as BigInt says, for all decimal numbers', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1n << 70n }), fc.bigInt({ min: 0n }), (a, b) => {
        expect(isOlder(String(a), String(b))).toBe(a < b);
      }),
    );
  });
});

describe('a table', () => {
  test('drops a reading that is older than the held one', () => {
    const table = tableOf();
    table.set(row('u', '2', 'new'));
    expect(table.set(row('u', '1', 'old'))).toBeUndefined();
    expect(table.get('u')?.key).toBe('new');
  });

  test('answers with the row that was replaced', () => {
    const table = tableOf();
    expect(table.set(row('u', '1'))).toEqual({});
    expect(table.set(row('u', '2'))).toEqual({ before: row('u', '1') });
  });

  test('takes a reading of the same version: it may come from another watch', () => {
    const table = tableOf();
    table.set(row('u', '1', 'a'));
    expect(table.set(row('u', '1', 'b'))).toEqual({ before: row('u', '1', 'a') });
  });

  test('does not bring back what was deleted', () => {
    const table = tableOf();
    table.set(row('u', '1'));
    table.delete('u');
    expect(table.set(row('u', '2'))).toBeUndefined();
    expect(table.size).toBe(0);
  });

  test('does not let in a late answer about an object it never held', () => {
    const table = tableOf();
    expect(table.delete('u')).toBeUndefined();
    expect(table.set(row('u', '1'))).toBeUndefined();
  });

  test('takes back what was only removed', () => {
    const table = tableOf();
    table.set(row('u', '1'));
    expect(table.remove('u')).toEqual(row('u', '1'));
    expect(table.set(row('u', '1'))).toEqual({});
  });

  test('forgets what is gone when it is cleared', () => {
    const table = tableOf();
    table.set(row('u', '1', 'k'));
    table.delete('u');
    table.clear();
    expect(table.set(row('u', '1', 'k'))).toEqual({});
    expect(table.by('key', 'k')).toHaveLength(1);
  });

  test('forgets the first deletions after ten thousand others', () => {
    const table = tableOf();
    for (let index = 0; index <= 10_000; index += 1) table.delete(`u${index}`);
    expect(table.set(row('u0', '1'))).toEqual({});
    expect(table.set(row('u1', '1'))).toBeUndefined();
  });

  test('takes the readings of a server that was restored, whatever their versions, once', () => {
    const table = tableOf();
    for (const uid of ['u', 'gone']) table.set(row(uid, '200'));
    table.delete('gone');
    table.forgetVersions();
    expect(table.set(row('u', '100'))).toEqual({ before: row('u', '200') });
    expect(table.set(row('gone', '100'))).toEqual({});
    expect(table.set(row('u', '99'))).toBeUndefined();
  });

  test('has no row for no key', () => expect(tableOf().one('key', undefined)).toBeUndefined());

  test('orders rows of one key by UID', () => {
    const table = tableOf();
    for (const uid of ['c', 'a', 'b']) table.set(row(uid, '1', 'k'));
    expect(table.by('key', 'k').map(({ uid }) => uid)).toEqual(['a', 'b', 'c']);
    expect(table.one('key', 'k')?.uid).toBe('a');
  });
});

describe('the rows under a key', () => {
  test.each<[string, boolean, (table: ReturnType<typeof tableOf>) => unknown]>([
    ['nothing changes', true, () => undefined],
    ['a row of another key comes', true, (table) => table.set(row('c', '1', 'other'))],
    ['an older reading is dropped', true, (table) => table.set(row('a', '0', 'k'))],
    ['one of them changes', false, (table) => table.set(row('a', '2', 'k'))],
    ['one comes', false, (table) => table.set(row('c', '1', 'k'))],
    ['one goes to another key', false, (table) => table.set(row('a', '2', 'other'))],
    ['one is removed', false, (table) => table.remove('a')],
  ])('when %s: are the same list: %j', (_when, same, change) => {
    const table = tableOf();
    for (const uid of ['a', 'b']) table.set(row(uid, '1', 'k'));
    const before = table.by('key', 'k');
    change(table);
    expect(table.by('key', 'k') === before).toBe(same);
  });
});

describe('an index', () => {
  const uid = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('set' as const),
      uid,
      version: fc.integer({ min: 0, max: 9 }),
      key: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
    }),
    fc.record({ kind: fc.constantFrom('remove' as const, 'delete' as const), uid }),
  );

  test('holds a row exactly under its key, whatever came before', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const table = tableOf();
        for (const each of steps) {
          if (each.kind === 'set') table.set(row(each.uid, String(each.version), each.key));
          else table[each.kind](each.uid);
          for (const key of ['x', 'y'])
            expect(table.by('key', key)).toEqual(
              [...table.values()]
                .filter((held) => held.key === key)
                .sort((a, b) => compareText(a.uid, b.uid)),
            );
        }
      }),
    );
  });

  test('ends the same for readings of one object in any order', () => {
    const versions = fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { minLength: 1 });
    fc.assert(
      fc.property(versions, (all) => {
        const table = tableOf();
        for (const version of all) table.set(row('u', String(version), String(version)));
        expect(table.get('u')?.key).toBe(String(Math.max(...all)));
      }),
    );
  });
});
