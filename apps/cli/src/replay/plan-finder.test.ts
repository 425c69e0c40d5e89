import type { Decision } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { PlanFinder } from './plan-finder.js';

const decision = (id: string, kind: Decision['kind'], rest: Partial<Decision> = {}): Decision => ({
  id,
  kind,
  source: 'test',
  atMs: 0,
  summary: '',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  ...rest,
});
const told = [
  decision('launch/uid/i-1', 'launch', { claimName: 'c1' }),
  decision('plan/aaa1', 'plan', { planId: 'aaa1' }),
  decision('admit/aaa1/bin-0', 'admit', { planId: 'aaa1', claimName: 'c1' }),
  decision('plan/aaa2', 'plan', { planId: 'aaa2' }),
  decision('disrupt/n1', 'disrupt'),
];

test.each([
  ['a plan by its decision', 'plan/aaa1', ['aaa1'], ''],
  ['a plan by the beginning of its id', 'aaa2', ['aaa2'], ''],
  ['the plan of a launch by its claim', 'launch/', ['aaa1'], ''],
  ['two plans', 'plan/aaa', ['aaa1', 'aaa2'], 'is the beginning of 2 plans: aaa1, aaa2'],
  ['none for a decision without one', 'disrupt/', [], 'no plan was made for decision disrupt/n1'],
  ['none for a decision that is not kept', 'x', [], 'none of the 5 kept decisions has the id x'],
])('finds %s', (_what, text, plans, why) => {
  const finder = new PlanFinder(text);
  for (const one of told) finder.take(one);
  expect(finder.plans()).toEqual(plans);
  if (why !== '') expect(finder.whyNone()).toContain(why);
});
