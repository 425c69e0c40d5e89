import type { PlanMessage } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { decisionOfPlan, gapOf } from './plan-decision.js';

const bin = { notes: [] } as never;
const sized = { notes: [{ code: 'pool-chosen', values: { sizes: 'c, m, r' } }] } as never;
test.each<[string, Parameters<typeof gapOf>[0], number | undefined]>([
  [
    'a tenth above the bound',
    {
      newNodes: [bin],
      bound: { kind: 'quick', priceMicrosPerHour: 100 } as never,
      priceMicrosPerHour: 110,
    },
    0.1,
  ],
  [
    'nothing for a plan without a bound',
    { newNodes: [bin], bound: { kind: 'none', priceMicrosPerHour: 0 }, priceMicrosPerHour: 110 },
    undefined,
  ],
  [
    'nothing for a plan whose nodes are sized by a part of the types',
    {
      newNodes: [bin, sized],
      bound: { kind: 'quick', priceMicrosPerHour: 100 } as never,
      priceMicrosPerHour: 110,
    },
    undefined,
  ],
  [
    'nothing for a plan that buys nothing',
    {
      newNodes: [],
      bound: { kind: 'quick', priceMicrosPerHour: 100 } as never,
      priceMicrosPerHour: 0,
    },
    undefined,
  ],
])('the gap is %s', (_what, plan, gap) => {
  const found = gapOf(plan);
  if (gap === undefined) expect(found).toBeUndefined();
  else expect(found).toBeCloseTo(gap);
});

test.each([
  [['x', 'x'], '2 pods without a place: x'],
  [['y', 'x', 'x'], '3 pods without a place: x (1 pod for other reasons)'],
  [['y', 'x'], '2 pods without a place: x (1 pod for other reasons)'],
])('pods that fit nowhere for %j are summed up as %j', (causes, summary) => {
  const unplaced = causes.map((cause, index) => ({
    podUid: `p${index}`,
    reasons: [{ code: 'resources-too-large' as const, message: cause, values: {} }],
  }));
  const plan = {
    ...{ newNodes: [], placements: [], unplaced, notes: [], priceMicrosPerHour: 0, steps: 0 },
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: causes.length, classes: 1, instanceTypes: 1 },
  };
  const cause = { kind: 'pending', group: 'g', round: '1.1' };
  const message = { id: 'p', cause, createdMs: 0, solver: 's', solveMs: 1, plan };
  expect(decisionOfPlan(message as unknown as PlanMessage).summary).toBe(summary);
});
