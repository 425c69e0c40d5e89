import { followDecisions, planIdOf, readPlanRecord } from '@dovetail/contracts';
import { Stopper } from '@dovetail/core-ports';
import { planAgain } from '@dovetail/core-scheduling';
import { hash } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import type { StoryStage } from '../story-stage.js';
import { simulate } from './simulation.js';

type Seen = { decisions: number; readonly plans: Set<string> };

/** The kept decisions that a plan was made for, and the plans. */
async function planned(stage: StoryStage): Promise<Seen> {
  const stop = new Stopper();
  const seen: Seen = { decisions: 0, plans: new Set() };
  for await (const event of followDecisions(stage.channel, stop)) {
    if (event.kind === 'caught-up') stop.abort();
    if (event.kind !== 'decision' || event.decision.planId === undefined) continue;
    seen.decisions += 1;
    seen.plans.add(event.decision.planId);
  }
  return seen;
}

/** What a plan is when it is made again: itself, unread with the reason, or another. */
async function again(stage: StoryStage, planId: string): Promise<string> {
  const read = await readPlanRecord(stage.channel, planId);
  if (read === undefined) return 'not kept';
  if (!read.ok) return read.reason;
  const { record, recorded } = read.value;
  const made = planIdOf(hash, { ...record, plan: planAgain(recorded.input) });
  return made === planId ? 'the same' : 'another';
}

test('a thousand decisions of stories full of faults are made again, to the byte', async () => {
  const found = new Map<string, number>();
  let decisions = 0;
  for (const seed of [1, 2, 3])
    await simulate(seed, 1, {
      atEnd: async (stage) => {
        const seen = await planned(stage);
        decisions += seen.decisions;
        for (const planId of seen.plans) {
          const what = await again(stage, planId);
          found.set(what, (found.get(what) ?? 0) + 1);
        }
      },
    });
  expect([...found.keys()]).toEqual(['the same']);
  expect(decisions).toBeGreaterThan(1_000);
});
