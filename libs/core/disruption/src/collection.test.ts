import type { NodeClaim } from '@dovetail/core-api';
import { describe, expect, test } from '@jest/globals';

import { type CollectionInput, intentIdOf, planCollection } from './collection.js';
import { claim, nowMs } from './testing/objects.js';

describe('collection', () => {
  const limits = {
    instanceAgeMinMs: 30_000,
    claimAgeMinMs: 120_000,
    fleetShareMax: 0.1,
    alwaysAllowed: 3,
  };
  const instance = (id: string, more = {}) => ({
    id,
    state: 'running',
    launchedMs: nowMs - 600_000,
    tags: { 'dovetail.sh/cluster-uid': 'us' },
    ...more,
  });
  const owner = (
    name: string,
    id: string | undefined,
    more: Partial<NodeClaim> = {},
  ): NodeClaim => {
    const { providerId: _id, ...rest } = claim(name, { nodeName: name, ...more });
    return id === undefined
      ? rest
      : { ...rest, annotations: { ...rest.annotations, 'dovetail.sh/instance-id': id } };
  };
  const collect = (more: Partial<CollectionInput>) =>
    planCollection({
      instances: [],
      claims: [],
      readyNodes: new Set(),
      clusterUid: 'us',
      nowMs,
      limits,
      ...more,
    });
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `i-${String(index).padStart(3, '0')}`);

  test('ends instances without a claim, and only those', () => {
    expect(
      collect({
        instances: [instance('i-1'), instance('i-2')],
        claims: [owner('c', 'i-2')],
      }).terminate.map(({ id }) => id),
    ).toEqual(['i-1']);
  });
  test.each([
    ['a young one', { launchedMs: nowMs - 30_000 }],
    ['one that is ending', { state: 'shutting-down' }],
    ['one that ended', { state: 'terminated' }],
    [
      'one whose intent is still being paired',
      { tags: { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' } },
    ],
  ])('leaves %s', (_what, more) => {
    const launching = owner('c', undefined, {
      annotations: { 'dovetail.sh/launch-intent': 'abc {}' },
    });
    expect(collect({ instances: [instance('i-1', more)], claims: [launching] }).terminate).toEqual(
      [],
    );
  });
  test('leaves what claims hold that could not be read', () => {
    const tags = { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' };
    const alsoHeld = { instanceIds: new Set(['i-1']), intentIds: new Set(['abc']) };
    expect(
      collect({
        instances: [instance('i-1'), instance('i-2', { tags }), instance('i-3')],
        alsoHeld,
      }).terminate.map(({ id }) => id),
    ).toEqual(['i-3']);
  });
  test('ends what an intent left over once all its claims are paired', () => {
    const paired = owner('c', 'i-2', { annotations: { 'dovetail.sh/launch-intent': 'abc {}' } });
    const tags = { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' };
    expect(
      collect({
        instances: [instance('i-1', { tags }), instance('i-2', { tags })],
        claims: [paired],
      }).terminate.map(({ id }) => id),
    ).toEqual(['i-1']);
  });
  test.each([
    ['claims whose instance is gone', {}, new Set<string>(), ['c']],
    ['not while the node is Ready', {}, new Set(['c']), []],
    [
      'not soon after launch',
      {
        conditions: [
          {
            type: 'Launched',
            status: 'True',
            reason: '',
            message: '',
            lastTransitionMs: nowMs - 60_000,
          },
        ],
      },
      new Set<string>(),
      [],
    ],
    ['not those that are being deleted', { deletionMs: nowMs }, new Set<string>(), []],
  ] as const)('ends %s', (_what, more, readyNodes, names) =>
    expect(
      collect({ claims: [owner('c', 'i-gone', more)], readyNodes }).deleteClaims.map(
        ({ name }) => name,
      ),
    ).toEqual(names),
  );
  test('stops when it would end over a tenth of the fleet', () => {
    const fleet = many(40).map((id) => instance(id));
    const claims = (orphans: number) =>
      many(40)
        .slice(orphans)
        .map((id) => owner(`c${id}`, id));
    expect(collect({ instances: fleet, claims: claims(4) }).terminate).toHaveLength(4);
    const stopped = collect({ instances: fleet, claims: claims(5) });
    expect([stopped.terminate.length, stopped.brakes.map(({ code }) => code)]).toEqual([
      0,
      ['collection-brake'],
    ]);
  });
  test('allows three in a small fleet, but not four', () => {
    expect(collect({ instances: many(3).map((id) => instance(id)) }).terminate).toHaveLength(3);
    expect(collect({ instances: many(4).map((id) => instance(id)) }).terminate).toEqual([]);
  });
  test("stops altogether when instances carry our name and another cluster's UID", () => {
    const stopped = collect({
      instances: [
        instance('i-1'),
        instance('i-2', { tags: { 'dovetail.sh/cluster-uid': 'them' } }),
      ],
      claims: [owner('c', 'i-gone')],
    });
    expect([
      stopped.terminate,
      stopped.deleteClaims,
      stopped.brakes.map(({ code }) => code),
    ]).toEqual([[], [], ['cluster-mismatch']]);
  });
});

test.each([
  [undefined, undefined],
  ['', ''],
  ['abc', 'abc'],
  ['abc {"x":1}', 'abc'],
])('the intent of %p is %p', (text, id) => expect(intentIdOf(text)).toBe(id));
