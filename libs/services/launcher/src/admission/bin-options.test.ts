import { expect, test } from 'vitest';

import { binValue, optionOf, planValue } from '../testing/values.js';
import { BinOptions } from './bin-options.js';
import { Ledger } from './ledger.js';
import { catalog, clusterOf, pool } from './testing/judging.js';

test('the needs of later bins cost each bin of a plan once, and not once for each bin', () => {
  let reads = 0;
  const bins = Array.from({ length: 200 }, (_, index) =>
    Object.defineProperty(binValue(`b${index}`, []), 'options', {
      get: () => {
        reads += 1;
        return [optionOf('small', 1)];
      },
    }),
  );
  const plan = planValue('p');
  const message = { ...plan, plan: { ...plan.plan, newNodes: bins } };
  const limited = { ...pool, limits: { cpu: 400_000 } };
  const ledger = new Ledger(clusterOf(limited), catalog, { nowMs: 0, nodes: [] });
  const options = new BinOptions(ledger);
  const left = bins.map((_, index) => options.left(message, index, limited, catalog.typesOf('')));
  expect(left.every(({ ok }) => ok)).toBe(true);
  expect(reads).toBe(2 * bins.length);
});
