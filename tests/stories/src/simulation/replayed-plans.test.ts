import { expect, test } from 'vitest';

import { plainWorld } from './draw.js';
import { noneReplayed, replayed } from './replayed.js';
import { replay, simulate } from './simulation.js';

/** Nodes are bought and end, while launchers die and the bus repeats and loses messages. */
const cycle = (number: number): readonly string[] => [
  'scale web 12 cpu=1.5',
  'scale db 3 cpu=0.5',
  'run 40s',
  ...(number % 5 === 1
    ? ['kill launcher before create nodeclaims', `start launcher as launcher-${String(number)}`]
    : []),
  ...(number % 5 === 3 ? ['bus delivers again', 'bus loses 2 answers'] : []),
  'scale web 0',
  'scale db 0',
  'run 60s',
];

const lines = [
  'class default',
  'pool spot capacity=spot types=m5.large,m5.xlarge empty=10s',
  'pool steady capacity=on-demand types=m5.large empty=10s',
  'start services',
  'run 30s',
  ...Array.from({ length: 24 }, (_, number) => cycle(number + 1)).flat(),
  ...plainWorld.ending,
];

test('a thousand decisions amid faults give reasons, and their plans are made again to the byte', async () => {
  let found = noneReplayed;
  const { breaches } = await replay(lines, {
    atEnd: async (stage) => {
      found = await replayed(stage);
    },
  });
  expect(breaches).toEqual([]);
  expect(found).toMatchObject({ unkept: 0, withoutPlan: 0, faults: [] });
  expect(found.same).toBeGreaterThanOrEqual(1_000);
});

test('a story full of faults loses nothing, and its plans and commands are made again to the byte', async () => {
  let found = noneReplayed;
  const { breaches } = await simulate(1, 0.6, {
    atEnd: async (stage) => {
      found = await replayed(stage);
    },
  });
  expect(breaches).toEqual([]);
  expect(found.faults).toEqual([]);
  expect(found.same).toBeGreaterThan(50);
});
