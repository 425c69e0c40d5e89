import type { StateValue } from '@dovetail/contracts';
import { describe, expect, test } from 'vitest';

import { outside } from '../testing/outside.js';
import { contentOf as digestOf, goneContent } from './feed-content.js';

const { hash } = outside().channel;
const contentOf = (state: StateValue): string => digestOf(state, hash);

const namespace = (change: object = {}): StateValue => ({
  kind: 'namespace',
  value: { uid: 'u', name: 'web', resourceVersion: '1', labels: {}, ...change },
});

describe('the content of a state', () => {
  test.each<[string, StateValue, boolean]>([
    ['the same value', namespace(), true],
    ['another resourceVersion', namespace({ resourceVersion: '2' }), true],
    ['another name', namespace({ name: 'api' }), false],
    ['other labels', namespace({ labels: { team: 'a' } }), false],
  ])('of %s', (_what, state, isSame) => {
    expect(contentOf(state) === contentOf(namespace())).toBe(isSame);
  });

  test('is never that of a tombstone', () => {
    expect(contentOf(namespace({ uid: '', name: '' }))).not.toBe(goneContent);
  });

  test.each([
    ['a small value', 1],
    ['a large one', 10_000],
  ])('takes as much room for %s', (_what, characters) =>
    expect(contentOf(namespace({ name: 'x'.repeat(characters) }))).toHaveLength(64),
  );

  test('that the wire cannot carry is a text of its own', () => {
    const bad = namespace({ name: undefined });
    expect(contentOf(bad)).toMatch(/^not encodable: /);
  });
});
