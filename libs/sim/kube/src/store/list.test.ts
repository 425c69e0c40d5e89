import { describe, expect, test } from 'vitest';

import { createKubeStore, createManualClock } from '../index.js';

describe('a list of the pods on a node', () => {
  const store = createKubeStore({ clock: createManualClock(Date.UTC(2026, 0, 1)), seed: 1 });
  const pods = store.type('', 'v1', 'pods');
  const create = (name: string, nodeName?: string): void => {
    const containers = [{ name: 'main', image: 'pause' }];
    const spec = { containers, ...(nodeName === undefined ? {} : { nodeName }) };
    store.create(pods, { namespace: 'default', object: { metadata: { name }, spec } });
  };
  const listed = (fieldSelector: string, limit?: number): readonly string[] =>
    store
      .list(pods, { fieldSelector, ...(limit === undefined ? {} : { limit }) })
      .items.map(({ metadata: { name } }) => name);
  create('c', 'n1');
  create('b');
  create('a', 'n1');
  create('d', 'n2');
  create('e', 'n1');
  store.bind({ namespace: 'default', name: 'b' }, 'n1');
  store.delete(pods, { namespace: 'default', name: 'e' }, { gracePeriodSeconds: 0 });

  test.each([
    ['spec.nodeName=n1', ['a', 'b', 'c']],
    ['spec.nodeName=n1,metadata.name!=a', ['b', 'c']],
    ['spec.nodeName=n1,spec.nodeName=n2', []],
    ['spec.nodeName=none', []],
    ['spec.nodeName=', []],
    ['spec.nodeName!=n1', ['d']],
  ])('by %s has %j', (fieldSelector, names) => expect(listed(fieldSelector)).toEqual(names));

  test('ends with its page', () => expect(listed('spec.nodeName=n1', 2)).toEqual(['a', 'b']));
});
