import type { MetricDefinition, MetricDefinitions, Metrics } from '@dovetail/core-ports';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * Seconds, in the spirit of Karpenter's histograms: fine below a second, coarse up to ten minutes.
 */
const secondsBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2, 5, 10, 30, 60, 120, 300, 600,
];

type Series = Counter | Gauge | Histogram;

type SeriesConfig = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
};

/** The series of a registry by name. Each is made at its first use. */
class SeriesByName {
  readonly #registry: Registry;
  readonly #definitions: MetricDefinitions;
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry, definitions: MetricDefinitions) {
    this.#registry = registry;
    this.#definitions = definitions;
  }

  find<S extends Series>(
    name: string,
    labels: Readonly<Record<string, string>>,
    make: (config: SeriesConfig) => S,
  ): S {
    const known = this.#series.get(name);
    if (known !== undefined) return known as S;
    const { help = name.replaceAll('_', ' '), labels: declared = [] }: Partial<MetricDefinition> =
      this.#definitions[name] ?? {};
    const labelNames = [...new Set([...declared, ...Object.keys(labels)])];
    const made = make({ name, help, labelNames, registers: [this.#registry] });
    this.#series.set(name, made);
    return made;
  }
}

/**
 * Prometheus metrics. A name keeps the kind of its first use, and the labels of its definition and
 * of its first use. A clash is a bug and throws.
 */
export function createMetrics(definitions: MetricDefinitions = {}): {
  readonly metrics: Metrics;
  readonly render: () => Promise<string>;
  readonly contentType: string;
} {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const series = new SeriesByName(registry, definitions);
  const metrics: Metrics = {
    count: (name, labels = {}, by = 1) =>
      series.find(name, labels, (config) => new Counter(config)).inc({ ...labels }, by),
    set: (name, value, labels = {}) =>
      series.find(name, labels, (config) => new Gauge(config)).set({ ...labels }, value),
    observe: (name, value, labels = {}) => {
      const buckets = [...(definitions[name]?.buckets ?? secondsBuckets)];
      const make = (config: SeriesConfig) => new Histogram({ ...config, buckets });
      series.find(name, labels, make).observe({ ...labels }, value);
    },
  };
  return { metrics, render: () => registry.metrics(), contentType: registry.contentType };
}
