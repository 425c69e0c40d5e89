import { labelsIn, metricLabels, metricsIn } from '@dovetail/test-support/metrics-page';
import { dashboards } from '@dovetail/tools/dashboards';
import { expect, test } from 'vitest';

const panels = dashboards.flatMap(({ name, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => [name, panel.title, panel] as const)),
);

test.each(panels)('%s, %s, asks for metrics and labels that exist', (_name, _title, panel) => {
  for (const { expr, legend } of panel.queries) {
    const names = metricsIn(expr);
    for (const name of names) expect([...metricLabels.keys()]).toContain(name);
    // Node.js' own metrics have no labels but those of the scrape.
    const labels = names.flatMap((name) => metricLabels.get(name) ?? []);
    for (const label of labelsIn(expr)) expect(labels).toContain(label);
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g)) expect(expr).toContain(label);
  }
});

test.each(panels)('%s, %s, says what it shows in a sentence', (_name, _title, panel) => {
  expect(panel.about).toMatch(/^[A-Z].*\.$/);
  expect(panel.emptyUntil ?? 'no cause').toMatch(/^\w.*[^.]$/);
  expect(panel.queries.length).toBeGreaterThan(0);
});

test.each(dashboards.map((dashboard) => [dashboard.name, dashboard] as const))(
  'no two panels of a row of %s have one title',
  (_name, { rows }) => {
    for (const { panels: row } of rows)
      expect(new Set(row.map(({ title }) => title)).size).toBe(row.length);
  },
);
