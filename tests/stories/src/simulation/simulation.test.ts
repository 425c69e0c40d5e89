import { describe, expect, jest, test } from '@jest/globals';

import { plantedBugs } from './planted-bugs.js';
import { replay, shrunk, simulate } from './simulation.js';

// An hour of a simulation takes seconds, and longer on a busy machine.
jest.setTimeout(300_000);

/** The first seed with which a simulation finds a planted bug, or undefined. */
async function foundBy(bug: string): Promise<number | undefined> {
  for (let seed = 1; seed <= 10; seed += 1)
    if ((await simulate(seed, 1, { sabotage: plantedBugs[bug] })).breaches.length > 0) return seed;
  return undefined;
}

describe('a simulation', () => {
  test('of equal seeds tells the same story, and so does its replay', async () => {
    const [first, second] = [await simulate(11, 0.25), await simulate(11, 0.25)];
    expect(second).toEqual(first);
    expect(await replay(first.lines)).toEqual(first);
  });

  test.each([1, 2, 3, 4])('with seed %d loses nothing', async (seed) => {
    expect((await simulate(seed, 1)).breaches).toEqual([]);
  });

  test.each(Object.keys(plantedBugs))('finds it when %s', async (bug) => {
    expect(await foundBy(bug)).toBeDefined();
  });

  test('shrinks what it finds to a few lines that still show it', async () => {
    const bug = plantedBugs['a launch is sent twice, under another token'];
    const { lines } = await simulate(1, 0.25, { sabotage: bug });
    const short = await shrunk(lines, { sabotage: bug });
    expect(short.length).toBeLessThan(lines.length);
    expect((await replay(short, bug)).breaches).not.toEqual([]);
    // The pods that make a node, and nothing else between beginning and end.
    expect(short.filter((line) => /^(kill|delete|ec2 interrupts)/.test(line))).toEqual([]);
  });
});
