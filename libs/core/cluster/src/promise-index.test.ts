import { renderPromise } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { PromiseIndex } from './promise-index.js';

const textOf = (...podUids: readonly string[]): string =>
  renderPromise({ podUids, admission: '1.1' });

describe('the index of promises', () => {
  test('finds a holder by the pods that it names', () => {
    const index = new PromiseIndex();
    index.set('claim', textOf('a', 'b'));
    index.set('node', textOf('b'));
    expect(index.holdersOf('a')).toEqual(['claim']);
    expect(index.holdersOf('b')).toEqual(['claim', 'node']);
    expect(index.of('claim')?.podUids).toEqual(['a', 'b']);
  });

  test.each<[string, string | undefined]>([
    ['has gone', undefined],
    ['is not JSON', '{'],
    ['names no pods', '{"admission":"1.1"}'],
    ['names no admission', '{"podUids":[]}'],
  ])('ends a promise whose annotation %s', (_how, text) => {
    const index = new PromiseIndex();
    index.set('claim', textOf('a'));
    index.set('claim', text);
    expect(index.of('claim')).toBeUndefined();
    expect(index.holdersOf('a')).toEqual([]);
    expect([...index.holders()]).toEqual([]);
  });

  test('finds a holder by the pods that it keeps room for, until its promise changes', () => {
    const index = new PromiseIndex();
    const room = { podUids: ['a'], admission: '1.1', forPodUids: ['x', 'y'] };
    index.set('claim', renderPromise(room));
    index.set('node', renderPromise({ ...room, forPodUids: ['y'] }));
    expect([index.roomsOf('x'), index.roomsOf('y')]).toEqual([['claim'], ['claim', 'node']]);
    index.set('claim', textOf('a'));
    expect([index.roomsOf('x'), index.roomsOf('y')]).toEqual([[], ['node']]);
    index.clear();
    expect(index.roomsOf('y')).toEqual([]);
  });

  test('is empty once cleared', () => {
    const index = new PromiseIndex();
    index.set('claim', textOf('a'));
    index.clear();
    expect([index.of('claim'), index.holdersOf('a')]).toEqual([undefined, []]);
  });

  test('names a holder under a pod exactly when its last promise names the pod', () => {
    const holder = fc.constantFrom('h1', 'h2', 'h3');
    const pods = fc.option(fc.subarray(['a', 'b', 'c']), { nil: undefined });
    fc.assert(
      fc.property(fc.array(fc.tuple(holder, pods)), (steps) => {
        const index = new PromiseIndex();
        const last = new Map<string, readonly string[] | undefined>(steps);
        for (const [uid, named] of steps)
          index.set(uid, named === undefined ? undefined : textOf(...named));
        for (const pod of ['a', 'b', 'c'])
          expect(index.holdersOf(pod)).toEqual(
            ['h1', 'h2', 'h3'].filter((uid) => last.get(uid)?.includes(pod) === true),
          );
      }),
    );
  });
});
