import { expect, test } from 'vitest';

import { staleFigures } from '../../tools/figures.js';

test('the figures in CONTRIBUTING.md are those of the code; `npx tsx tools/figures.ts --write` renews them', async () => {
  expect(await staleFigures()).toEqual([]);
});
