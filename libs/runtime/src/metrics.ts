import type { Metrics } from '@dovetail/core-ports';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What a metric is, for its HELP line and, for histograms, its buckets. */
export type MetricDefinition = { readonly help: string; readonly buckets?: readonly number[] };

/** Seconds, as Karpenter's histograms have them in spirit: fine below a second, coarse up to ten minutes. */
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2, 5, 10, 30, 60, 120, 300, 600];

type Series = Counter | Gauge | Histogram;

/** Prometheus metrics. A name keeps the kind and the labels of its first use; a clash is a bug and throws. */
export function createMetrics(definitions: Readonly<Record<string, MetricDefinition>> = {}): { readonly metrics: Metrics; readonly render: () => Promise<string>; readonly contentType: string } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const series = new Map<string, Series>();
  const find = <S extends Series>(name: string, labels: Readonly<Record<string, string>>, make: (config: { name: string; help: string; labelNames: string[]; registers: Registry[] }) => S): S => {
    const known = series.get(name);
    if (known !== undefined) return known as S;
    const made = make({ name, help: definitions[name]?.help ?? name.replaceAll('_', ' '), labelNames: Object.keys(labels), registers: [registry] });
    series.set(name, made);
    return made;
  };
  const metrics: Metrics = {
    count: (name, labels = {}, by = 1) => find(name, labels, (config) => new Counter(config)).inc({ ...labels }, by),
    set: (name, value, labels = {}) => find(name, labels, (config) => new Gauge(config)).set({ ...labels }, value),
    observe: (name, value, labels = {}) => find(name, labels, (config) => new Histogram({ ...config, buckets: [...(definitions[name]?.buckets ?? secondsBuckets)] })).observe({ ...labels }, value),
  };
  return { metrics, render: () => registry.metrics(), contentType: registry.contentType };
}
