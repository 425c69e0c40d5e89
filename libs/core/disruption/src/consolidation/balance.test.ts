import { annotations } from '@dovetail/core-api';
import { expect, test } from 'vitest';

import { poolTotalsOf } from '../rules/costs.js';
import { claim, node, nowMs, pod, pool, view } from '../testing/objects.js';
import { imbalanceOf, scoresOf } from './balance.js';
import { consolidationCandidates } from './candidates.js';
import type { Command } from './command.js';

/** Four nodes of one pool, of 0.10 dollars and one pod each; the first is to go. */
function outcome(policy: 'Balanced' | 'WhenEmptyOrUnderutilized', savedMicros: number) {
  const own = pool({ disruption: { policy, consolidateAfterMs: 0, budgets: [] } });
  const views = ['1', '2', '3', '4'].map((id) =>
    view({
      claim: claim(`c${id}`, { annotations: { [annotations.pricePerHour]: '0.100000' } }),
      node: node(`n${id}`),
      pool: own,
      pods: [pod(`p${id}`)],
    }),
  );
  const options = { budgetsOf: () => [], podOf: () => undefined, nowMs };
  const candidates = consolidationCandidates(views, options).candidates.slice(0, 1);
  const command = {
    priceBeforeMicrosPerHour: 100_000,
    priceAfterMicrosPerHour: 100_000 - savedMicros,
  } as Command;
  return imbalanceOf(scoresOf(command, candidates, poolTotalsOf(views)))?.values['score'];
}

test.each<[string, Parameters<typeof outcome>, string | undefined]>([
  ['Balanced refuses a saving of two fifths of its price', ['Balanced', 40_000], '0.40'],
  ['Balanced approves a saving of half of its price', ['Balanced', 50_000], undefined],
  ['another policy approves any saving', ['WhenEmptyOrUnderutilized', 1], undefined],
])('of a node among four equal ones, %s', (_what, given, score) =>
  expect(outcome(...given)).toBe(score),
);
