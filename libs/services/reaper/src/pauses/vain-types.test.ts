import { annotations, labels, type NodeClaim } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { expect, test } from 'vitest';

import { ReaperCluster } from '../cluster/reaper-cluster.js';
import { VainTypes } from './vain-types.js';

const minuteMs = 60_000;
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const pool = { kind: 'NodePool', name: 'default' } as const;

/** A cluster at a time that a test moves, with the types that were bought in vain. */
function world() {
  const time = { nowMs: 0 };
  const clock = { nowMs: () => time.nowMs, sleep: () => Promise.resolve() };
  const cluster = new ReaperCluster(clock.nowMs, 'replace');
  const types = new VainTypes(cluster, { clock, log });
  /** A node that a command has bought now. */
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
  return { time, cluster, bought, end, isLeftOut };
}

const usable = [
  { type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: 1 },
] as const;

test.each<[string, Partial<NodeClaim>, number, boolean]>([
  ['that never became usable', {}, 10, true],
  ['that ended while it may still have booted', {}, 4, false],
  ['that became usable', { conditions: usable }, 10, false],
  ['that no command has bought', { annotations: {} }, 10, false],
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
