import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', 'docs', 'reference', 'metrics.md'),
  'utf8',
);

/** The labels of all our metrics by name, as the reference page has them. */
export const metricLabels: ReadonlyMap<string, readonly string[]> = new Map(
  [...page.matchAll(/^\| `((?:karpenter|dovetail)_\w+)` \|[^|]*\|[^|]*\|([^|]*)\|/gm)].map(
    ([, name = '', labels = '']) => [
      name,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    ],
  ),
);

/** Labels that Prometheus adds: the bound of a bucket, the quantile, and what was scraped. */
const prometheusLabels = ['le', 'quantile', 'job', 'instance'];

/** The names of our metrics in a query. A histogram is asked by the counts of its buckets. */
export const metricsIn = (expr: string): readonly string[] =>
  (expr.match(/(?:karpenter|dovetail)_\w+/g) ?? []).map((name) => name.replace(/_bucket$/, ''));

/** The labels that a query sums by, or selects by, without those of Prometheus. */
export const labelsIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/ by \(([^)]*)\)|\{([^}]*)\}/g)].flatMap(([, by, matchers]) =>
    (by ?? matchers ?? '')
      .split(',')
      .map((one) => one.trim().replace(/[!=].*$/, ''))
      .filter((one) => one !== '' && !prometheusLabels.includes(one)),
  );
