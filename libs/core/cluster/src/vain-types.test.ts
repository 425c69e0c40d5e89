import { annotations, labels, type NodeClaim } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { type LeftOut, VainTypes } from './vain-types.js';

const minuteMs = 60_000;
const pool = { kind: 'NodePool', name: 'default' } as const;

/** A cluster at a time that a test moves, with the types that were bought in vain. */
function world() {
  const time = { nowMs: 0 };
  const cluster = new Cluster();
  cluster.set('pool', poolValue('default'));
  const told: LeftOut[] = [];
  const types = new VainTypes(cluster, {
    clock: { nowMs: () => time.nowMs },
    counts: (claim) => annotations.maxPricePerHour in claim.annotations,
    onLeftOut: (leftOut) => void told.push(leftOut),
  });
  cluster.subscribe((change) => types.heard(change));
  /** A node that has been bought now, and that counts. */
  const bought = (name: string, more: Partial<NodeClaim> = {}): NodeClaim => {
    const claim = claimValue(name, {
      pool,
      createdMs: time.nowMs,
      labels: { [labels.instanceType]: 'm5.large' },
      annotations: { [annotations.maxPricePerHour]: '0.1' },
      ...more,
    });
    cluster.set('claim', claim);
    return claim;
  };
  const end = ({ uid }: NodeClaim): void => void cluster.delete('claim', uid);
  const isLeftOut = (type = 'm5.large', of: string = pool.name) =>
    types.isLeftOut({ ...pool, name: of }, type);
  return { time, cluster, types, told, bought, end, isLeftOut };
}

const usable = [
  { type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: 1 },
] as const;

test.each<[string, Partial<NodeClaim>, number, boolean]>([
  ['that never became usable', {}, 10, true],
  ['that ended while it may still have booted', {}, 4, false],
  ['that became usable', { conditions: usable }, 10, false],
  ['that does not count', { annotations: {} }, 10, false],
  ['whose type is not known', { labels: {} }, 10, false],
])('after the end of a node %s', (_what, more, minutes, isOut) => {
  const { time, bought, end, isLeftOut } = world();
  const claim = bought('a', more);
  time.nowMs = minutes * minuteMs;
  expect(isLeftOut()).toBe(false);
  end(claim);
  expect(isLeftOut()).toBe(isOut);
  expect([isLeftOut('m5.xlarge'), isLeftOut('m5.large', 'other')]).toEqual([false, false]);
});

test('its type is tried with one node at a time after an hour, until one becomes usable', () => {
  const { time, cluster, bought, end, isLeftOut } = world();
  const first = [bought('a'), bought('b')];
  time.nowMs = 10 * minuteMs;
  for (const claim of first) end(claim);
  time.nowMs = 69 * minuteMs;
  expect(isLeftOut()).toBe(true);
  time.nowMs = 70 * minuteMs;
  expect(isLeftOut()).toBe(false);
  const second = bought('c', { labels: {} });
  expect(isLeftOut()).toBe(true);
  cluster.set('claim', { ...second, labels: { [labels.instanceType]: 'm5.xlarge' } });
  expect(isLeftOut()).toBe(false);
  const third = bought('d');
  time.nowMs = 80 * minuteMs;
  end(third);
  time.nowMs = 199 * minuteMs;
  expect(isLeftOut()).toBe(true);
  time.nowMs = 200 * minuteMs;
  bought('e', { conditions: usable });
  expect(isLeftOut()).toBe(false);
  bought('f');
  expect(isLeftOut()).toBe(false);
});

test('each type that is left out is told of once, until its pause is over', () => {
  const { time, told, bought, end } = world();
  const claims = [bought('a'), bought('b')];
  time.nowMs = 10 * minuteMs;
  for (const claim of claims) end(claim);
  expect(told).toEqual([{ claim: claims[0], instanceType: 'm5.large', untilMs: 70 * minuteMs }]);
});

test('a change of the pool is another try', () => {
  const { time, cluster, bought, end, isLeftOut } = world();
  const claim = bought('a');
  time.nowMs = 10 * minuteMs;
  end(claim);
  expect(isLeftOut()).toBe(true);
  cluster.set('pool', poolValue('default', { generation: 7 }));
  expect(isLeftOut()).toBe(false);
});

test('a failure is forgotten after eight hours', () => {
  const { time, bought, end, isLeftOut } = world();
  const claim = bought('a');
  time.nowMs = 10 * minuteMs;
  end(claim);
  const other = bought('b', { labels: { [labels.instanceType]: 'm5.xlarge' } });
  time.nowMs += 9 * 60 * minuteMs;
  end(other);
  bought('c');
  // Nothing of it is left, not even that one node at a time is tried.
  expect(isLeftOut()).toBe(false);
});

const prices: Readonly<Record<string, number>> = { 'm5.large': 96, 'm5.xlarge': 192 };
const options = (...types: readonly string[]) =>
  types.map((instanceType) => ({ instanceType, priceMicrosPerHour: prices[instanceType] ?? 193 }));

test.each([
  ['the others are left', ['m5.large', 'm5.xlarge', 'm5.large'], ['m5.xlarge']],
  [
    'all are left if the others cost more than twice as much',
    ['m5.large', 'm5.2xlarge'],
    ['m5.large', 'm5.2xlarge'],
  ],
  ['all are left if there are no others', ['m5.large'], ['m5.large']],
  ['all are left if none is left out', ['m5.xlarge', 'c5.large'], ['m5.xlarge', 'c5.large']],
])('of the options of a node %s', (_what, given, left) => {
  const { time, types, bought, end } = world();
  const claim = bought('a');
  time.nowMs = 10 * minuteMs;
  end(claim);
  const all = options(...given);
  const usable = types.usable(pool, all);
  expect(usable).toEqual(options(...left));
  // Bins share their lists of options: an equal list is the same one.
  expect(usable === all).toBe(left.length === given.length);
});
