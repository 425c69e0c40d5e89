import { limits } from '@dovetail/contracts';
import { type DeliveredMessage, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { keepInHand } from './keep-in-hand.js';

const message = { subject: 'dovetail.lab.plan.v1.all' } as DeliveredMessage;
const item = (working: () => Promise<void>) => ({ message, working });

test('items in hand are kept well before the bus would deliver them again, until they are settled', async () => {
  const clock = virtualClock(0);
  const stop = new Stopper();
  const kept: string[] = [];
  const failed: string[] = [];
  const items = new Set([
    item(() => Promise.reject(new Error('no bus'))),
    item(async () => void kept.push('a')),
  ]);
  const log = { debug: (event: string) => void failed.push(event) } as never;
  const keeping = keepInHand({ clock, log }, items, stop);
  expect(kept).toEqual([]);
  await clock.advance(limits.ackWaitMs / 2);
  expect([kept, failed]).toEqual([['a'], ['work-not-kept']]);
  items.clear();
  await clock.advance(limits.ackWaitMs);
  expect(kept).toEqual(['a']);
  stop.abort();
  await keeping;
});
