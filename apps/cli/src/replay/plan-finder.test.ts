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
  decision('disrupt/n3', 'disrupt', { claimName: 'c1' }),
  decision('terminate/n3', 'terminate', { claimName: 'c1' }),
  decision('disrupt/n2', 'disrupt', { claimName: 'c1', facts: { command: 'underutilized-1' } }),
  decision('command/underutilized-1/7', 'command', {
    planId: 'bbb1',
    facts: { command: 'underutilized-1', whatIf: 'ccc1' },
  }),
  decision('admit/bbb1/bin-0', 'admit', { planId: 'bbb1', claimName: 'c2' }),
  decision('launch/uid/i-2', 'launch', { claimName: 'c2' }),
];

test.each([
  ['a plan by its decision', 'plan/aaa1', ['aaa1'], ''],
  ['a plan by the beginning of its id', 'aaa2', ['aaa2'], ''],
  ['the plan of a launch by its claim', 'launch/uid/i-1', ['aaa1'], ''],
  ['the plan that a command was judged by', 'command/', ['ccc1'], ''],
  ['that plan by the plan that buys for the command', 'bbb1', ['ccc1'], ''],
  ['that plan by the end of a node of the command', 'disrupt/n2', ['ccc1'], ''],
  ['that plan by what was launched for the command', 'launch/uid/i-2', ['ccc1'], ''],
  ['that plan by its own id', 'ccc1', ['ccc1'], ''],
  ['two plans', 'plan/aaa', ['aaa1', 'aaa2'], 'is the beginning of 2 plans: aaa1, aaa2'],
  ['none for a decision without one', 'disrupt/n1', [], 'no plan was made for decision disrupt/n1'],
  ['none for the end of an empty node that a plan bought', 'disrupt/n3', [], 'no plan was made'],
  ['none for the end of its instance', 'terminate/n3', [], 'no plan was made'],
  ['none for a decision that is not kept', 'x', [], 'none of the 11 kept decisions has the id x'],
])('finds %s', (_what, text, plans, why) => {
  const finder = new PlanFinder(text);
  for (const one of told) finder.take(one);
  expect(finder.plans()).toEqual(plans);
  if (why !== '') expect(finder.whyNone()).toContain(why);
});
