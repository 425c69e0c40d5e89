import { text } from 'node:stream/consumers';

import { expect, test } from 'vitest';

import { createMetrics } from './metrics.js';
import { withLeaders } from './shell.js';

test('each page of metrics says by which Leases the process leads at that moment', async () => {
  const { metrics, render } = createMetrics();
  let held = false;
  const leaders = new Map([['dovetail-reaper', { held: () => held }]]);
  const page = withLeaders({ leaders, metrics }, render);
  expect(await text(page())).toContain('dovetail_leader{lease="dovetail-reaper"} 0\n');
  held = true;
  expect(await text(page())).toContain('dovetail_leader{lease="dovetail-reaper"} 1\n');
});
