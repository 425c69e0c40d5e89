import type { NodeClaim } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { claim, nowMs } from '../testing/objects.js';
import {
  type Collection,
  type CollectionInput,
  intentIdOf,
  noMemory,
  planCollection,
  suspectedClaims,
} from './collection.js';

describe('collection', () => {
  const limits = {
    instanceAgeMinMs: 30_000,
    claimAgeMinMs: 120_000,
    suspicionMinMs: 120_000,
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
      stateById: new Map(),
      readyNodes: new Set(),
      readyInstances: new Set(),
      clusterUid: 'us',
      nowMs,
      limits,
      memory: noMemory,
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
    ['without an instance in the list is asked for by id', {}, new Set<string>(), ['c']],
    ['is left alone while its node is Ready', {}, new Set(['c']), []],
    [
      'is left alone soon after its launch',
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
    ['is left alone while it is being deleted', { deletionMs: nowMs }, new Set<string>(), []],
  ] as const)('a claim %s', (_what, more, readyNodes, names) => {
    const claims = [owner('c', 'i-gone', more)];
    const suspected = suspectedClaims({ instances: [], claims, readyNodes, nowMs, limits });
    expect(suspected.map(({ name }) => name)).toEqual(names);
  });

  const another = instance('i-other');
  const longAgo = { ...noMemory, sinceMs: new Map([['uid-c', nowMs - 120_000]]) };
  const justNow = { ...noMemory, sinceMs: new Map([['uid-c', nowMs - 119_000]]) };
  test.each<[string, Partial<CollectionInput>, readonly string[]]>([
    ['running by id, stays', { stateById: new Map([['i-gone', 'running']]) }, []],
    [
      'running by id, stays for ever',
      { stateById: new Map([['i-gone', 'stopped']]), memory: longAgo },
      [],
    ],
    ['terminated by id, ends', { stateById: new Map([['i-gone', 'terminated']]) }, ['c']],
    ['shutting down by id, ends', { stateById: new Map([['i-gone', 'shutting-down']]) }, ['c']],
    ['not shown for the first time, stays', {}, []],
    ['not shown for less than two minutes, stays', { memory: justNow }, []],
    ['not shown for two minutes, ends', { memory: longAgo }, ['c']],
  ])('a claim whose instance is %s', (_what, more, names) => {
    const claims = [owner('c', 'i-gone'), owner('other', 'i-other')];
    const { deleteClaims } = collect({ instances: [another], claims, ...more });
    expect(deleteClaims.map(({ name }) => name)).toEqual(names);
  });

  test('an answer of EC2 that shows nothing at all ends no claim', () => {
    const stopped = collect({ claims: [owner('c', 'i-gone')], memory: longAgo });
    expect([stopped.deleteClaims, stopped.brakes.map(({ code }) => code)]).toEqual([
      [],
      ['collection-brake'],
    ]);
  });

  test('ends any number of claims whose instances EC2 calls terminated', () => {
    const claims = many(40).map((id) => owner(`c${id}`, id));
    const stateById = new Map(many(40).map((id) => [id, 'terminated']));
    expect(collect({ claims, stateById }).deleteClaims).toHaveLength(40);
  });

  /** Passes ten seconds apart, each with what the one before has noted. */
  const passes = (
    count: number,
    input: (pass: number) => Partial<CollectionInput>,
  ): Collection[] => {
    const made: Collection[] = [];
    for (let pass = 0; pass < count; pass += 1) {
      const memory = made.at(-1)?.memory ?? noMemory;
      made.push(collect({ nowMs: nowMs + pass * 10_000, memory, ...input(pass) }));
    }
    return made;
  };

  test('counts what it ended over an hour, so that many passes end no more than one', () => {
    const fleet = many(40).map((id) => instance(id));
    const held = (from: number): NodeClaim[] =>
      many(40)
        .slice(from)
        .map((id) => owner(`c${id}`, id));
    // Three claims more are missing in each pass.
    const made = passes(10, (pass) => ({
      instances: fleet.slice(3 * pass),
      claims: held(3 * (pass + 1)),
    }));
    expect(made.flatMap(({ terminate }) => terminate)).toHaveLength(3);
  });

  test('does not count an instance twice that takes long to end', () => {
    const made = passes(5, () => ({ instances: many(3).map((id) => instance(id)) }));
    expect(made.map(({ terminate }) => terminate.length)).toEqual([3, 3, 3, 3, 3]);
  });

  test.each([
    ['never in a small fleet, and says so', 9, 100, 0, 1],
    ['not at once in a large one', 10, 11, 0, 0],
    ['after two minutes in a large one', 10, 13, 1, 0],
  ])(
    'ends an instance that runs a Ready node without a claim %s',
    (_what, fleet, count, ended, brakes) => {
      const made = passes(count, () => ({
        instances: [...many(fleet - 1), 'i-ready'].map((id) => instance(id)),
        claims: many(fleet - 1).map((id) => owner(`c${id}`, id)),
        readyInstances: new Set(['i-ready']),
      }));
      const last = made.at(-1);
      expect([last?.terminate.length, last?.brakes.length]).toEqual([ended, brakes]);
    },
  );

  test('ends no more than a tenth, however many of the leftovers run a Ready node', () => {
    const ids = many(40);
    const [silent, ready] = [ids.slice(0, 3), ids.slice(3, 6)];
    const stray = collect({
      instances: ids.map((id) => instance(id)),
      claims: ids.slice(6).map((id) => owner(`c${id}`, id)),
      readyInstances: new Set(ready),
      memory: { ...noMemory, sinceMs: new Map(ready.map((id) => [id, nowMs - 120_000])) },
    });
    expect(stray.terminate.map(({ id }) => id)).toEqual(silent);
    expect(stray.brakes.map(({ code }) => code)).toEqual(['collection-brake']);
  });

  test('leaves instances that carry the name of the cluster and not its UID', () => {
    expect(collect({ instances: [instance('i-1', { tags: {} })] }).terminate).toEqual([]);
  });

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
