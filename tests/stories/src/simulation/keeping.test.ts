import { describe, expect, test } from 'vitest';

import { plainWorld } from './draw.js';
import { keepingWorld } from './keeping-world.js';
import { shortStories } from './short-stories.js';
import { replay, simulate, type Simulated } from './simulation.js';
import type { Tally } from './tally.js';
import type { World } from './world.js';

/** Seeds whose stories do much in little time. */
const seeds = [2, 3, 8] as const;
const hours = 0.45;
/** A seed whose calm story drifts, removes and replaces nodes. */
const calm = { seed: 36, hours: 0.8 } as const;

/** The least that must happen in all stories, so that the laws have something to judge. */
const least: Tally = {
  replacements: 6,
  removals: 10,
  joint: 2,
  givenBack: 1,
  drifts: 1,
  repairs: 1,
  takeOvers: 1,
};

/** Short stories are played to their last line only, with as many types as drawn ones. */
const manyTypes: World = { ...plainWorld, types: keepingWorld.types ?? [] };

const played: Simulated[] = [];

describe('a short story', () => {
  test.each(Object.entries(shortStories))('obeys every law when %s', async (_what, lines) => {
    const story = await replay(lines, { world: manyTypes });
    played.push(story);
    expect(story.breaches).toEqual([]);
  });
});

describe('a cluster that is kept cheap', () => {
  test.each(seeds)('loses nothing and obeys every law with seed %d', async (seed) => {
    const story = await simulate(seed, hours, { world: keepingWorld });
    played.push(story);
    expect(story.breaches).toEqual([]);
  });

  test('loses nothing and obeys every law with a calm seed', async () => {
    const story = await simulate(calm.seed, calm.hours, { pace: 'calm', world: keepingWorld });
    played.push(story);
    expect(story.breaches).toEqual([]);
  });
});

describe('all of these stories', () => {
  test.each(Object.keys(least) as (keyof Tally)[])('have enough %s to judge', (what) => {
    const sum = played.reduce((all, { tally }) => all + tally[what], 0);
    expect(sum).toBeGreaterThanOrEqual(least[what]);
  });
});
