import { expect, test } from 'vitest';

import { alive, minute, open, pending, running, self } from './testing/faults.js';

/** Plans a pod, and answers which type its node is of once all pods run. */
async function typeFor(pod: string, podsWanted: number): Promise<string | undefined> {
  const before = new Set(alive().map(({ id }) => id));
  await pending(pod);
  await self.planner.planFor([pod]);
  await self.until(`${pod} to run`, () => running(podsWanted));
  return alive().find(({ id }) => !before.has(id))?.instanceType;
}

test('a successor avoids the offerings that EC2 refused its predecessor, and no longer', async () => {
  await open();
  await self.readyPool();
  const { life } = self.launcher('one');
  await self.planningPossible();
  self.twin.setCapacity({ instanceType: 'c5a.large', free: 0 });
  expect(await typeFor('a', 1)).not.toBe('c5a.large');
  life.die();
  self.twin.setCapacity({ free: 'unlimited' });
  const before = await self.head();
  self.launcher('two');
  await self.until('its epoch', async () => (await self.head())?.epoch !== before?.epoch);
  expect(await typeFor('b', 2)).not.toBe('c5a.large');
  await self.advance(4 * minute);
  expect(await typeFor('c', 3)).toBe('c5a.large');
});
