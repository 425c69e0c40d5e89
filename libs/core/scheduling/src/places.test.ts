import { expect, test } from 'vitest';

import { checkPlan, placesOnExisting, plan } from './index.js';
import { mixedWorld } from './testing/worlds.js';

const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

test('places on nodes that exist break no rule but a spread that new nodes even out', () => {
  let placed = 0;
  for (const seed of seeds) {
    const { snapshot, pods, options } = mixedWorld(seed);
    const placements = placesOnExisting(snapshot, pods, options);
    const uids = placements.flatMap(({ podUids }) => podUids);
    placed += uids.length;
    expect(new Set(uids).size).toBe(uids.length);
    const known = new Set(uids);
    const theirs = pods.filter(({ uid }) => known.has(uid));
    const made = { ...plan(snapshot, [], options), placements };
    const violations = checkPlan(snapshot, theirs, made, options).filter(
      ({ code }) => code !== 'topology-spread',
    );
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  }
  expect(placed).toBeGreaterThan(100);
});

test('a pod that needs a new node has no place', () => {
  const { snapshot, pods, options } = mixedWorld(1);
  expect(placesOnExisting({ ...snapshot, nodes: [] }, pods, options)).toEqual([]);
});
