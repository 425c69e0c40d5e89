import type { Query } from './grafana.js';

/** The labels of a set of lines as their names: `{{code}} {{outcome}}`. */
const legendOf = (labels: readonly string[]): string =>
  labels.map((label) => `{{${label}}}`).join(' ');

/** How a pool is chosen, in metrics that have its label. */
export const ofPool = 'nodepool=~"$nodepool"';

/** The metric with matchers in braces. */
const selected = (metric: string, matchers: string): string =>
  matchers === '' ? metric : `${metric}{${matchers}}`;

/** The sum of an expression by these labels. */
const summed = (by: readonly string[], expr: string): string =>
  by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`;

/** The sum of a gauge over replicas and services by these labels. */
export const sumOf = (metric: string, by: readonly string[], matchers = ''): Query => ({
  expr: summed(by, selected(metric, matchers)),
  legend: legendOf(by),
});

/** How much a counter grew between two points of the graph, by these labels. */
export const increaseOf = (metric: string, by: readonly string[], matchers = ''): Query => ({
  expr: summed(by, `increase(${selected(metric, matchers)}[$__rate_interval])`),
  legend: legendOf(by),
});

/** How fast a counter grows in a second, by these labels. */
export const rateOf = (metric: string, by: readonly string[], matchers = ''): Query => ({
  expr: summed(by, `rate(${selected(metric, matchers)}[$__rate_interval])`),
  legend: legendOf(by),
});

/** The median and the 90th and 99th percentile of a histogram over the last hour. */
export const quantilesOf = (
  metric: string,
  { by = [], matchers = '' }: { readonly by?: readonly string[]; readonly matchers?: string } = {},
): readonly Query[] =>
  [0.5, 0.9, 0.99].map((quantile) => ({
    // Plans, launches and drains are rare: a shorter time would leave holes in the lines.
    expr: `histogram_quantile(${quantile}, ${summed(['le', ...by], `rate(${selected(`${metric}_bucket`, matchers)}[1h])`)})`,
    legend: [`p${quantile * 100}`, ...(by.length === 0 ? [] : [legendOf(by)])].join(' '),
  }));

/** A number that is one over all that is scraped. */
export const one = (expr: string, legend: string): Query => ({ expr, legend });
