import { expect, test } from 'vitest';

import { gapOf } from './plan-decision.js';

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
