import { text } from 'node:stream/consumers';

import type { MetricDefinitions } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { createMetrics } from './metrics.js';

const definitions: MetricDefinitions = {
  plain_total: { kind: 'counter', help: 'Without labels' },
  labelled_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'By outcome',
    known: [{ outcome: 'admitted' }],
  },
  took_seconds: { kind: 'histogram', help: 'How long', buckets: [1, 2] },
  ended_seconds: { kind: 'summary', labels: ['nodepool'], help: 'How long, as quantiles' },
  waiting: { kind: 'gauge', help: 'Now' },
  usage: { kind: 'gauge', labels: ['nodepool'], help: 'By pool' },
  stopped: { kind: 'gauge', labels: ['brake'], help: 'By brake', known: [{ brake: 'many' }] },
};

describe('metrics', () => {
  test('a defined metric and its known labels are 0 before anything is counted', async () => {
    const lines = (await text(createMetrics(definitions).render())).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'plain_total 0',
        'labelled_total{outcome="admitted"} 0',
        'took_seconds_count 0',
        'waiting 0',
        'stopped{brake="many"} 0',
        '# TYPE usage gauge',
      ]),
    );
  });

  test('the gauges of a leader are emptied, and its counters stay', async () => {
    const { metrics, render, resetGauges } = createMetrics(definitions);
    metrics.set('waiting', 7);
    metrics.set('usage', 3, { nodepool: 'default' });
    metrics.set('stopped', 1, { brake: 'many' });
    metrics.count('plain_total');
    resetGauges(Object.keys(definitions));
    const page = await text(render());
    expect(page).toContain('\nwaiting 0\n');
    expect(page).not.toContain('usage{');
    expect(page).toContain('stopped{brake="many"} 0\n');
    expect(page).toContain('\nplain_total 1\n');
  });

  test('what was shown of an object that is gone is taken back, and the rest stays', async () => {
    const { metrics, render } = createMetrics(definitions);
    metrics.set('usage', 3, { nodepool: 'gone' });
    metrics.set('usage', 4, { nodepool: 'kept' });
    metrics.remove('usage', { nodepool: 'gone' });
    const page = await text(render());
    expect(page).not.toContain('gone');
    expect(page).toContain('usage{nodepool="kept"} 4\n');
  });

  test('a summary shows the quantiles, the sum and the count of what was observed', async () => {
    const { metrics, render } = createMetrics(definitions);
    for (const seconds of [1, 2, 3])
      metrics.observe('ended_seconds', seconds, { nodepool: 'default' });
    const page = await text(render());
    expect(page).toContain('# TYPE ended_seconds summary\n');
    for (const [quantile, seconds] of [
      ['0', 1],
      ['0.5', 2],
      ['1', 3],
    ] as const)
      expect(page).toMatch(
        new RegExp(`ended_seconds{(?=.*quantile="${quantile}").*} ${seconds}\n`),
      );
    expect(page).toContain('ended_seconds_sum{nodepool="default"} 6\n');
    expect(page).toContain('ended_seconds_count{nodepool="default"} 3\n');
  });

  test('no gauge has the name of a counter', async () => {
    const page = await text(createMetrics(definitions).render());
    expect(page).not.toMatch(/^# TYPE \w+_total gauge$/m);
  });
});
