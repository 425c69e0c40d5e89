import type { PlanSketch } from '@dovetail/core-scheduling';
import { expect, test } from 'vitest';

import { outcomeOf } from './outcome.js';
import { outcomeJson, outcomeText } from './outcome-text.js';

const node = { zone: 'a', capacityType: 'spot', pods: 2 } as const;
const recorded: PlanSketch = {
  priceMicrosPerHour: 300_000,
  nodes: [
    { ...node, instanceType: 'm5.large', priceMicrosPerHour: 100_000 },
    { ...node, instanceType: 'm5.xlarge', priceMicrosPerHour: 200_000 },
  ],
  placedPods: 1,
  unplaced: [{ uid: 'left' }],
};
const now: PlanSketch = {
  priceMicrosPerHour: 240_000,
  nodes: [
    { ...node, instanceType: 'm5.large', priceMicrosPerHour: 80_000 },
    { ...node, instanceType: 'm5.large', priceMicrosPerHour: 80_000 },
    { ...node, instanceType: 'm5.large', priceMicrosPerHour: 80_000 },
  ],
  placedPods: 1,
  unplaced: [{ uid: 'new' }],
};

test.each([
  [
    'the same plan is one line',
    { recorded, now: recorded },
    { same: true, changes: [] },
    'plan p: made again, the same to the byte (2 new nodes, $0.3000/h, 1 pod without a place)\n',
  ],
  [
    'another plan under a change has its difference in nodes and dollars',
    { recorded, now },
    { same: false, changes: ['--price m5.large=0.08'] },
    `plan p: made again with --price m5.large=0.08, $0.0600/h cheaper
recorded: 2 new nodes, $0.3000/h, 1 pod without a place
now:      3 new nodes, $0.2400/h, 1 pod without a place

TYPE       ZONE  CAPACITY  RECORDED  NOW  EACH
m5.large   a     spot      1         3    $0.0800/h
m5.xlarge  a     spot      1         0    $0.2000/h

pods that have a place now: left
pods that have none now: new
`,
  ],
  [
    'another plan without a change is that of another release',
    { recorded, now: { ...recorded, nodes: [], unplaced: [] } },
    { same: false, changes: [] },
    `plan p: made again: this release plans otherwise, at the same price
recorded: 2 new nodes, $0.3000/h, 1 pod without a place
now:      0 new nodes, $0.3000/h

TYPE       ZONE  CAPACITY  RECORDED  NOW  EACH
m5.large   a     spot      1         0    $0.1000/h
m5.xlarge  a     spot      1         0    $0.2000/h

pods that have a place now: left
`,
  ],
])('%s', (_what, plans, about, text) => {
  const outcome = outcomeOf(plans, { planId: 'p', ...about });
  expect(outcomeText(outcome, {})).toBe(text);
  expect(JSON.parse(outcomeJson(outcome))).toEqual({ schema: 'dovetail.sh/replay/v1', ...outcome });
});
