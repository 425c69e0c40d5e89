import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { nodeOf, podOf, snapshotOf } from '../testing/objects.js';
import { legacyWorld, mixedWorld } from '../testing/worlds.js';
import { unsized, worldOf } from './world.js';

const seeds = Array.from({ length: 30 }, (_, index) => index + 1);

describe('a world', () => {
  test('has each pod asked for in one class, once, in every generated world', () => {
    for (const seed of seeds) {
      const { snapshot, pods, options } = mixedWorld(seed);
      const { classes } = worldOf(snapshot, [...pods, ...pods], options);
      expect(classes.flatMap(({ uids }) => uids).sort()).toEqual(pods.map(({ uid }) => uid).sort());
    }
  });

  test('takes the first of two pods with one uid', () => {
    const pods = [podOf('a', { requests: { cpu: 1 } }), podOf('a', { requests: { cpu: 2 } })];
    const { classes } = worldOf(snapshotOf(), pods, defaultPlanOptions);
    expect(classes.map(({ requests }) => requests[0])).toEqual([1]);
  });

  test('frees the room of a pod that is to be placed again', () => {
    const pods = [podOf('a', { requests: { cpu: 1000 } }), podOf('b', { requests: { cpu: 500 } })];
    const snapshot = snapshotOf({ nodes: [nodeOf('n', { allocatable: { cpu: 4000 }, pods })] });
    const freeFor = (moving: typeof pods) =>
      worldOf(snapshot, moving, defaultPlanOptions).nodes.map(({ free }) => free[0]);
    expect(freeFor([])).toEqual([2500]);
    expect(freeFor(pods.slice(0, 1))).toEqual([3500]);
  });

  test('leaves snapshot and pods as they were', () => {
    for (const seed of seeds) {
      const { snapshot, pods, options } = mixedWorld(seed);
      const before = JSON.stringify([snapshot, pods]);
      worldOf(snapshot, pods, options);
      expect(JSON.stringify([snapshot, pods])).toBe(before);
    }
  });
});

test('a world that is not sized has the same offers, and no sizes', () => {
  const worlds = seeds
    .map(legacyWorld)
    .map(({ snapshot, pods, options }) => worldOf(snapshot, pods, options));
  expect(worlds.some(({ templates }) => templates.some(({ sizes }) => sizes))).toBe(true);
  for (const world of worlds) {
    const plain = unsized(world);
    expect(plain.templates.map(({ sizes }) => sizes)).toEqual(world.templates.map(() => undefined));
    expect(plain.templates.map(({ offers }) => offers)).toEqual(
      world.templates.map(({ offers }) => offers),
    );
  }
});
