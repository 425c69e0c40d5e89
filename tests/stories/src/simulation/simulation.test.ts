import { describe, expect, test } from 'vitest';

import { plainWorld } from './draw.js';
import { plantedBugs } from './planted-bugs.js';
import { replay, shrunk, simulate } from './simulation.js';

/** The story that finds a planted bug: its seed and how long it is drawn, or its lines. */
type Finding = { readonly seed: number; readonly hours: number } | readonly string[];

/** A node that is being drained in vain when EC2 announces its end. */
const blockedDrain = [
  'class default',
  'pool spot capacity=spot',
  'start services',
  'run 30s',
  'scale web 2 cpu=1',
  'budget web at least 2',
  'run 4m',
  'delete node node-1',
  'run 20s',
  'ec2 interrupts i-1',
  'run 3m',
];

/** An instance that EC2 does not show yet when it announces its end. */
const hiddenInstance = [
  'class default',
  'pool spot capacity=spot',
  'start services',
  'run 30s',
  'ec2 shows instances after 10m',
  'scale web 2 cpu=1',
  'run 4m',
  'ec2 interrupts i-1',
  'run 3m',
];

/** A node that is bought, and goes when its pods go. */
const boughtAndEmptied = [
  'class default',
  'pool spot capacity=spot',
  'start services',
  'run 30s',
  'scale web 2 cpu=1',
  'run 4m',
  'scale web 0 cpu=1',
  'run 20m',
];

/** A claim that somebody copies, and whose copy is deleted. */
const copiedClaim = [
  'class default',
  'pool spot capacity=spot',
  'start services',
  'run 30s',
  'scale web 2 cpu=1',
  'run 4m',
  'copy claim claim-1',
  'run 30s',
  'delete claim claim-2',
  'run 3m',
];

/** A launcher that crashes between an instance's launch and its tags leaves one like this. */
const lostTags = [
  'class default',
  'pool spot capacity=spot',
  'start services',
  'run 30s',
  'scale web 2 cpu=1',
  'run 4m',
  'ec2 loses the tags of i-1',
  'run 10m',
];

/** A story in which much happens beside the launch that is sent twice. */
const busy = [
  'class default',
  'pool spot capacity=spot',
  'pool steady capacity=on-demand',
  'start services',
  'run 30s',
  'scale web 2 cpu=1',
  'scale db 2 cpu=0.5',
  'run 90s',
  'delete claim claim-1',
  'rollout web',
  'run 1m',
  'ec2 interrupts i-1',
  'kill launcher',
  'start launcher as launcher-2',
  'run 2m',
  'scale db 0',
  'run 1m',
];

const findings: Readonly<Record<string, Finding>> = {
  'a launch is sent twice, under another token': boughtAndEmptied,
  'each end takes another instance with it': { seed: 1, hours: 1 },
  'a drain deletes pods where it should evict': { seed: 1, hours: 1 },
  'the reaper ends no instance and believes that none is left': { seed: 14, hours: 0.3 },
  'a notice is lost when its node is being retired already': blockedDrain,
  'nodes that expire or drift end without room for their pods': { seed: 1, hours: 1 },
  'a claim whose instance lacks its tags is collected': lostTags,
  'a notice is obeyed only once EC2 has answered': hiddenInstance,
  'a retirement is given back as soon as it has begun, without a pause': { seed: 1, hours: 1 },
  'the end of a copied claim ends the instance of the original': copiedClaim,
  'an instance is ended with volumes attached': { seed: 1, hours: 1 },
  'a round of admission lasts longer than the Lease': { seed: 4, hours: 0.3 },
};

describe('a simulation', () => {
  test('of equal seeds tells the same story, and so does its replay', async () => {
    const [first, second] = [await simulate(11, 0.1), await simulate(11, 0.1)];
    expect(second).toEqual(first);
    expect(await replay(first.lines)).toEqual(first);
  });

  test('with seed 2 loses nothing', async () => {
    expect((await simulate(2, 0.6)).breaches).toEqual([]);
  });

  test.each(Object.entries(findings))('finds it when %s', async (bug, finding) => {
    const sabotage = plantedBugs[bug];
    expect(sabotage).toBeDefined();
    const { breaches } = await ('seed' in finding
      ? simulate(finding.seed, finding.hours, { sabotage, stopsAtBreach: true })
      : replay(finding, { sabotage }));
    expect(breaches).not.toEqual([]);
  });

  test.each([
    ['a drain that is blocked when EC2 announces the end of its instance', blockedDrain],
    ['an instance that EC2 does not show when it announces its end', hiddenInstance],
    ['a node that is bought and goes empty', boughtAndEmptied],
    ['a claim that somebody copies, and whose copy is deleted', copiedClaim],
    ['an instance that loses its tags', lostTags],
    ['a short time with much in it', busy],
  ])('of %s loses nothing', async (_what, lines) =>
    expect((await replay(lines)).breaches).toEqual([]),
  );

  test('has a story for each planted bug', () =>
    expect(Object.keys(findings).sort()).toEqual(Object.keys(plantedBugs).sort()));

  test('shrinks what it finds to a few lines that still show it', async () => {
    const bug = plantedBugs['a launch is sent twice, under another token'];
    const lines = [...busy, ...plainWorld.ending];
    const short = await shrunk(lines, { sabotage: bug });
    expect(short.length).toBeLessThan(lines.length);
    expect((await replay(short, { sabotage: bug })).breaches).not.toEqual([]);
    // The pods that make a node, and nothing else between beginning and end.
    expect(short.filter((line) => /^(kill|delete|ec2 interrupts)/.test(line))).toEqual([]);
  });
});
