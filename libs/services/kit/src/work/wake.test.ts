import { Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { beforeEach, describe, expect, test } from 'vitest';

import { Wake } from './wake.js';

describe('a wake', () => {
  let clock = virtualClock(0);
  let stop = new Stopper();
  let wake = new Wake(clock);
  let log: string[] = [];
  beforeEach(() => {
    [clock, stop, log] = [virtualClock(0), new Stopper(), []];
    wake = new Wake(clock);
  });
  const wait = (name: string, atMostMs?: number): void =>
    void wake.wait(stop, atMostMs).then(() => log.push(`${name}@${String(clock.nowMs())}`));

  test('lets a waiter sleep until it is raised', async () => {
    wait('a');
    await clock.advance(1_000);
    expect(log).toEqual([]);
    wake.raise();
    await clock.advance(0);
    expect(log).toEqual(['a@1000']);
  });

  test('remembers many raises while nobody waits as one', async () => {
    wake.raise();
    wake.raise();
    wait('first', 500);
    await clock.advance(0);
    wait('second', 500);
    await clock.advance(500);
    expect(log).toEqual(['first@0', 'second@500']);
  });

  test('forgets what was raised when cleared', async () => {
    wake.raise();
    wake.clear();
    wait('a', 100);
    await clock.advance(100);
    expect(log).toEqual(['a@100']);
  });

  test('wakes all who wait', async () => {
    wait('a');
    wait('b', 500);
    await clock.advance(10);
    wake.raise();
    await clock.advance(0);
    expect(log).toEqual(['a@10', 'b@10']);
  });

  test('ends with the stop, and leaves no sleeper and no listener behind', async () => {
    wait('a');
    wait('b', 60_000);
    await clock.advance(10);
    stop.abort();
    await clock.advance(0);
    expect([log, clock.sleeping()]).toEqual([['a@10', 'b@10'], 0]);
    wait('after');
    await clock.advance(0);
    expect(log).toHaveLength(3);
  });
});
