import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { EqualParts } from './equal-parts.js';
import { podOf } from './project/pod.js';

const pod = (uid: string, over: object = {}) => ({
  uid,
  nodeName: `node-of-${uid.slice(0, 1)}`,
  labels: { app: 'web', tier: 'front' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  ...over,
});

describe('an object', () => {
  test('is equal to the one that was given, whatever it holds', () => {
    const parts = new EqualParts();
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const text = JSON.stringify(object);
        expect(JSON.stringify(parts.of(object))).toBe(text);
        expect(JSON.stringify(object)).toBe(text);
      }),
    );
  });

  test('has the parts of an earlier one where they are equal', () => {
    const parts = new EqualParts();
    const [first, second] = [parts.of(pod('a')), parts.of(pod('b'))];
    expect(second.labels).toBe(first.labels);
    expect(second.tolerations).toBe(first.tolerations);
  });

  test('has its own parts where they differ, with the equal members of earlier ones', () => {
    const parts = new EqualParts();
    const first = parts.of(pod('a'));
    const more = [...pod('b').tolerations, { key: 'spot', operator: 'Exists' }];
    const second = parts.of(pod('b', { tolerations: more }));
    expect(second.tolerations).not.toBe(first.tolerations);
    expect(second.tolerations[0]).toBe(first.tolerations[0]);
  });

  test('of other content has other parts, also if a text reads like a part', () => {
    const parts = new EqualParts();
    expect(parts.of({ a: '{}', b: {}, c: [], d: '[]' })).toEqual({
      a: '{}',
      b: {},
      c: [],
      d: '[]',
    });
  });
});

describe('a parser', () => {
  const raw = (uid: string) => ({ metadata: { uid, name: uid, labels: { app: 'web' } } });
  test('gives values that share equal parts', () => {
    const read = new EqualParts().reading(podOf);
    const [first, second] = [read(raw('a')), read(raw('b'))];
    expect(second).toEqual(podOf(raw('b')));
    expect(first.ok && second.ok && first.value.labels === second.value.labels).toBe(true);
  });
  test('gives values that do not stay as they were read', () => {
    const read = new EqualParts().reading(podOf, ({ uid }) => uid === 'b');
    const [first, second] = [read(raw('a')), read(raw('b'))];
    expect(first).toEqual(podOf(raw('a')));
    expect(first.ok && second.ok && first.value.labels === second.value.labels).toBe(false);
    const third = read(raw('b'));
    expect(third.ok && second.ok && third.value.labels === second.value.labels).toBe(true);
  });
  test('refuses what it refused', () =>
    expect(new EqualParts().reading(podOf)(1)).toEqual(podOf(1)));
});

test('a part that is too long to be kept whole shares its members', () => {
  const parts = new EqualParts();
  const annotated = (promise: string) => ({
    annotations: { intent: { text: 'x'.repeat(1_000) }, promise: promise.repeat(5_000) },
  });
  const [first, second] = [parts.of(annotated('a')), parts.of(annotated('b'))];
  expect(second.annotations.intent).toBe(first.annotations.intent);
  expect(second.annotations.promise).not.toBe(first.annotations.promise);
});

describe('among more parts than are kept', () => {
  const other = (index: number) => ({ labels: { one: `${index}`.padEnd(1_000) } });
  const othersAtOnce = 400;
  const after = (rounds: number, between: (parts: EqualParts) => void) => {
    const parts = new EqualParts();
    const { labels } = parts.of(pod('a'));
    for (let index = 0; index < rounds * othersAtOnce; index += 1) {
      parts.of(other(index));
      if (index % othersAtOnce === 0) between(parts);
    }
    return parts.of(pod('b')).labels === labels;
  };

  test('one that is used now and then stays', () =>
    expect(after(20, (parts) => void parts.of(pod('c')))).toBe(true));
  test('one that is not used is forgotten', () => expect(after(20, () => undefined)).toBe(false));
});
