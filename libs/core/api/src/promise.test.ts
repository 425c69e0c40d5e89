import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parsePromise, type PromiseAnnotation, renderPromise } from './promise.js';

fc.configureGlobal({ seed: 1 });

const anyPromise: fc.Arbitrary<PromiseAnnotation> = fc.record(
  {
    podUids: fc.uniqueArray(fc.uuid(), { maxLength: 4 }),
    admission: fc.constantFrom('1.2', '7.0'),
    untilMs: fc.nat(),
    reserved: fc.dictionary(fc.constantFrom('cpu', 'memory'), fc.nat()),
    forPodUids: fc.uniqueArray(fc.uuid(), { maxLength: 4 }).map((uids) => uids.sort()),
    replaces: fc.record({ nodeName: fc.string(), nodeUid: fc.uuid() }),
  },
  { requiredKeys: ['podUids', 'admission'] },
);

describe('a promise', () => {
  test.each<[string, string | undefined]>([
    ['absent', undefined],
    ['empty', ''],
    ['cut short', '{"podUids":['],
    ['a list', '[]'],
    ['null', 'null'],
    ['without pods', '{"admission":"1.2"}'],
    ['with pods that are no list', '{"podUids":"a","admission":"1.2"}'],
    ['without its admission', '{"podUids":[]}'],
  ])('that is %s binds no pod', (_name, text) => expect(parsePromise(text)).toBeUndefined());

  test.each<[string, object, object]>([
    ['a UID that is no text', { podUids: ['a', 7] }, { podUids: ['a'] }],
    ['a replaced pod that is no text', { forPodUids: ['b', 7] }, { forPodUids: ['b'] }],
    ['replaced pods that are no list', { forPodUids: 'b' }, {}],
    ['an end that is no number', { untilMs: 'soon' }, {}],
    ['an amount that is no number', { reserved: { cpu: '1' } }, {}],
    ['a replaced node without a UID', { replaces: { nodeName: 'n' } }, {}],
  ])('with %s keeps the rest', (_name, change, read) =>
    expect(parsePromise(JSON.stringify({ podUids: [], admission: '1.2', ...change }))).toEqual({
      podUids: [],
      admission: '1.2',
      ...read,
    }),
  );

  test.each(['1e400', '-1e400'])('with %s as a number keeps no room for ever', (endless) => {
    const text = `{"podUids":[],"admission":"1.2","untilMs":${endless},"reserved":{"cpu":${endless}}}`;
    expect(parsePromise(text)).toEqual({ podUids: [], admission: '1.2' });
  });

  test('reads back as it was written, with its pods in order', () =>
    fc.assert(
      fc.property(anyPromise, (promise) => {
        expect(parsePromise(renderPromise(promise))).toEqual({
          ...promise,
          podUids: promise.podUids.toSorted(),
        });
      }),
    ));

  test('is written the same whatever the order of its pods', () =>
    fc.assert(
      fc.property(anyPromise, (promise) => {
        expect(renderPromise({ ...promise, podUids: promise.podUids.toReversed() })).toBe(
          renderPromise(promise),
        );
      }),
    ));

  test('that anyone could have written is read or ignored, never an error', () =>
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = parsePromise(JSON.stringify(value));
        expect(read === undefined || Array.isArray(read.podUids)).toBe(true);
      }),
    ));
});
