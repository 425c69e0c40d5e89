import { createHash } from 'node:crypto';

import { annotations, type NodeClaim } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { describe, expect, test } from 'vitest';

import { spotRequest } from '../testing/values.js';
import { intentOf, renderIntent } from './intent.js';
import { launchUnits } from './units.js';
import { UnpairedClaims } from './unpaired-claims.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A cluster that counts the texts that are hashed and the looks at each kind of claim. */
function counted() {
  const counts = { hashed: 0, paired: 0, unpaired: 0 };
  const cluster = new Cluster();
  const unpaired = new UnpairedClaims(cluster, (text) => {
    counts.hashed += 1;
    return sha256Hex(text);
  });
  const put = (kind: 'paired' | 'unpaired', claim: NodeClaim): void =>
    cluster.set(
      'claim',
      new Proxy(claim, {
        get: (target, name, receiver) => {
          counts[kind] += 1;
          return Reflect.get(target, name, receiver) as unknown;
        },
      }),
    );
  const wake = (): number =>
    launchUnits({
      unpaired,
      claimByName: (name) => cluster.claims.one('name', name),
      isSettled: () => false,
      isHeldBack: () => false,
      isVoid: () => false,
      membersMax: 50,
    }).length;
  const during = (work: () => void): Readonly<typeof counts> => {
    const before = { ...counts };
    work();
    return {
      hashed: counts.hashed - before.hashed,
      paired: counts.paired - before.paired,
      unpaired: counts.unpaired - before.unpaired,
    };
  };
  return { cluster, unpaired, put, wake, during };
}

const paired = (name: string): NodeClaim =>
  claimValue(name, { annotations: { [annotations.instanceId]: 'i-1' } });
/** Claims that share intents of fifty, each in force. */
const launching = (count: number): readonly NodeClaim[] =>
  Array.from({ length: count / 50 }, (_, group) => {
    const members = Array.from({ length: 50 }, (_none, index) => `c${group}-${index}`);
    const intent = intentOf({ attempt: 1, createdMs: 5, members, request: spotRequest }, sha256Hex);
    return members.map((name) =>
      claimValue(name, { annotations: { [annotations.launchIntent]: renderIntent(intent) } }),
    );
  }).flat();

describe('the work of a wake', () => {
  test.each([10, 1_000, 5_000])('looks at none of %i claims with an instance', (count) => {
    const { put, wake, during } = counted();
    for (let index = 0; index < count; index += 1) put('paired', paired(`p${index}`));
    put('unpaired', claimValue('new'));
    const { paired: looks } = during(() => expect(wake()).toBe(1));
    expect(looks).toBe(0);
  });

  test.each([
    [100, 2],
    [1_000, 20],
  ])(
    'for %i claims reads each of their %i intents once, however often it is done',
    (count, intents) => {
      const { put, wake, during } = counted();
      for (const claim of launching(count)) put('unpaired', claim);
      expect(during(() => expect(wake()).toBe(intents)).hashed).toBe(intents);
      expect(during(() => Array.from({ length: 10 }, wake)).hashed).toBe(0);
    },
  );

  test('grows with the claims without an instance, and no faster', () => {
    const looksFor = (count: number): number => {
      const { put, wake, during } = counted();
      for (const claim of launching(count)) put('unpaired', claim);
      wake();
      return during(wake).unpaired / count;
    };
    expect(looksFor(2_000)).toBeLessThanOrEqual(looksFor(100));
  });

  test('reads no intent again when its claim changes otherwise', () => {
    const { put, wake, during } = counted();
    const [first, ...rest] = launching(50);
    if (first === undefined) throw new Error('there are fifty');
    for (const claim of [first, ...rest]) put('unpaired', claim);
    wake();
    const changed = {
      ...first,
      resourceVersion: '2',
      annotations: { ...first.annotations, a: 'b' },
    };
    put('unpaired', changed);
    expect(during(wake).hashed).toBe(0);
  });
});

describe('claims without an instance', () => {
  test('are those of the mirror, in order of their names', () => {
    const { cluster, unpaired } = counted();
    for (const name of ['b', 'c', 'a']) cluster.set('claim', claimValue(name));
    expect(unpaired.all().map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    cluster.set('claim', { ...paired('b'), resourceVersion: '2' });
    expect(unpaired.all().map(({ name }) => name)).toEqual(['a', 'c']);
  });

  test('name their launch templates', () => {
    const { cluster, unpaired } = counted();
    for (const claim of launching(50)) cluster.set('claim', claim);
    expect([...unpaired.templates()]).toEqual(
      spotRequest.configs.map(({ launchTemplateName }) => launchTemplateName),
    );
  });

  test('an intent that was changed by hand is none, though its id was read before', () => {
    const { unpaired } = counted();
    const [claim] = launching(50);
    if (claim === undefined) throw new Error('there are fifty');
    const text = claim.annotations[annotations.launchIntent] ?? '';
    const forged = claimValue('x', { annotations: { [annotations.launchIntent]: `${text} ` } });
    expect(unpaired.headOf(claim)?.attempt).toBe(1);
    expect(unpaired.headOf(forged)).toBeUndefined();
    expect(unpaired.headOf(claim)?.attempt).toBe(1);
  });

  test('what intents say is forgotten with their claims', () => {
    const { cluster, unpaired, during } = counted();
    const claims = launching(50 * 600).filter((_claim, index) => index % 50 === 0);
    const [first] = claims;
    if (first === undefined) throw new Error('there are six hundred');
    for (const claim of claims) unpaired.headOf(claim);
    expect(during(() => unpaired.headOf(first)).hashed).toBe(1);
    cluster.set('claim', first);
    for (const claim of claims) unpaired.headOf(claim);
    expect(during(() => unpaired.headOf(first)).hashed).toBe(0);
  });
});
