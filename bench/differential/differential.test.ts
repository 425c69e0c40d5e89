import { expect, test } from '@jest/globals';

import { buildPeer } from '../planner/peer.js';
import { differencesIn } from './run.js';

const worlds = 300;

test('in small random worlds no plan is dearer or less complete than Karpenter’s without a reason', async () => {
  let told = '';
  const built = await buildPeer((text) => {
    told += text;
  });
  if (!built) {
    process.stdout.write(`LEFT OUT: comparing plans with Karpenter's: ${told.trim()}\n`);
    return;
  }
  const differences = await differencesIn(Array.from({ length: worlds }, (_, index) => index + 1));
  const unexplained = differences.filter(({ reason }) => reason === undefined);
  // Ties of Karpenter's are random, so one of its runs may be luckier than another.
  expect(unexplained.slice(worlds / 100)).toEqual([]);
}, 600_000);
