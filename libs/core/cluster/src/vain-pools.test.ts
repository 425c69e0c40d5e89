import { labels, type NodeClaim } from '@dovetail/core-api';
import { claimValue, nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { describe, expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { type PoolHold, VainPools } from './vain-pools.js';

const minuteMs = 60_000;
const identity = { kind: 'NodePool', name: 'default' } as const;
const usable = [
  { type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: 1 },
] as const;

/** A cluster at a time that a test moves, and the holds of its pool that were told. */
function world() {
  const time = { nowMs: 0 };
  const cluster = new Cluster();
  const pool = poolValue('default');
  cluster.set('pool', pool);
  const told: PoolHold[] = [];
  const pools = new VainPools(cluster, {
    clock: { nowMs: () => time.nowMs },
    onHeld: ({ claim: _, ...hold }) => void told.push(hold),
  });
  cluster.subscribe((change) => pools.heard(change));
  let claims = 0;
  const bought = (type: string, more: Partial<NodeClaim> = {}): NodeClaim => {
    claims += 1;
    const claim = claimValue(`claim-${String(claims)}`, {
      pool: identity,
      createdMs: time.nowMs,
      labels: { [labels.instanceType]: type },
      ...more,
    });
    cluster.set('claim', claim);
    return claim;
  };
  const end = ({ uid }: NodeClaim): void => void cluster.delete('claim', uid);
  /** Buys a node of a type now and gives it up a quarter of an hour later. */
  const failed = (type: string): void => {
    const claim = bought(type);
    time.nowMs += 15 * minuteMs;
    end(claim);
  };
  /** The minutes for which the pool is held from now on. */
  const heldMinutes = (): number =>
    ((pools.holdOf(identity)?.untilMs ?? time.nowMs) - time.nowMs) / minuteMs;
  return { time, cluster, pool, pools, told, bought, end, failed, heldMinutes };
}

describe('a pool is held', () => {
  test.each<[string, readonly string[], number]>([
    ['not after a node of one type', ['m5.large'], 0],
    ['not after several nodes of one type', ['m5.large', 'm5.large', 'm5.large'], 0],
    ['for a minute after nodes of two types', ['m5.large', 'm5.xlarge'], 1],
    ['for two minutes after one more of either', ['m5.large', 'm5.xlarge', 'm5.large'], 2],
    ['for an hour at most', ['a', 'b', ...Array.from({ length: 9 }, () => 'a')], 60],
  ])('%s', (_what, types, minutes) => {
    const { failed, heldMinutes, pools } = world();
    for (const type of types) failed(type);
    expect(heldMinutes()).toBe(minutes);
    expect(pools.isFailing(identity)).toBe(minutes > 0);
  });

  test('once for nodes that were bought together, and is told of once', () => {
    const { time, bought, end, failed, heldMinutes, told } = world();
    failed('m5.large');
    const claims = ['m5.xlarge', 'm5.2xlarge', 'm5.xlarge'].map((type) => bought(type));
    time.nowMs += 15 * minuteMs;
    for (const claim of claims) end(claim);
    expect(heldMinutes()).toBe(1);
    expect(told).toEqual([
      { pool: identity, types: ['m5.large', 'm5.xlarge'], untilMs: time.nowMs + minuteMs },
    ]);
  });

  test('while one node of it is tried after its time', () => {
    const { time, bought, end, failed, pools } = world();
    for (const type of ['m5.large', 'm5.xlarge']) failed(type);
    time.nowMs += minuteMs;
    expect(pools.holdOf(identity)).toBeUndefined();
    const tried = bought('m5.large', { createdMs: time.nowMs });
    expect(pools.holdOf(identity)).toEqual({ pool: identity, types: ['m5.large', 'm5.xlarge'] });
    time.nowMs += minuteMs;
    end(tried);
    expect(pools.holdOf(identity)).toBeUndefined();
  });
});

describe('a pool goes again', () => {
  const held = () => {
    const self = world();
    for (const type of ['m5.large', 'm5.xlarge']) self.failed(type);
    return self;
  };

  test('when one of its nodes becomes usable', () => {
    const { cluster, bought, failed, heldMinutes, pools } = held();
    cluster.set('claim', { ...bought('m5.large'), conditions: usable });
    expect([heldMinutes(), pools.isFailing(identity)]).toEqual([0, false]);
    failed('m5.large');
    expect(heldMinutes()).toBe(0);
  });

  test('when the pool changes', () => {
    const { cluster, pool, heldMinutes } = held();
    cluster.set('pool', { ...pool, generation: pool.generation + 1 });
    expect(heldMinutes()).toBe(0);
  });

  test('when its class changes', () => {
    const { cluster, pool, heldMinutes } = held();
    const { name } = pool.classRef;
    cluster.set('nodeclass', nodeClassValue(name, { ref: pool.classRef, generation: 7 }));
    expect(heldMinutes()).toBe(0);
  });
});
