import { planIdOf, readPlanRecord, streamName, subjects } from '@dovetail/contracts';
import { planAgain } from '@dovetail/core-scheduling';
import { clusterName, hash, packing } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import type { StoryStage } from '../story-stage.js';
import { simulate } from './simulation.js';

/** The plans whose records are kept. */
async function recorded({ bus }: StoryStage): Promise<readonly string[]> {
  const stream = streamName(clusterName, 'records');
  const kept = await bus.lastSequences(stream, subjects.planRecordAll(clusterName));
  return [...kept.keys()].map((subject) => subject.split('.').at(-1) ?? '');
}

/** Makes a plan again. Tells if it is the same, or another, or why it cannot be read. */
async function again({ channel }: StoryStage, planId: string): Promise<string> {
  const read = await readPlanRecord(channel, planId, packing);
  if (read === undefined) return 'not kept';
  if (!read.ok) return read.reason;
  const { record, recorded: kept } = read.value;
  const made = planIdOf(hash, { ...record, plan: planAgain(kept.input) });
  return made === planId ? 'the same' : 'another';
}

test('a story full of faults loses nothing, and each of its plans is made again to the byte', async () => {
  const found: string[] = [];
  const { breaches, tally } = await simulate(1, 0.6, {
    atEnd: async (stage) => {
      for (const planId of await recorded(stage)) found.push(await again(stage, planId));
    },
  });
  expect(breaches).toEqual([]);
  expect(new Set(found)).toEqual(new Set(['the same']));
  expect(found.length, JSON.stringify(tally)).toBeGreaterThan(20);
});
