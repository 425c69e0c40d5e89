import { lookUp } from '@dovetail/core-invariant';
import type {
  MetricDefinition,
  MetricDefinitions,
  Metrics,
  ScrapedMetrics,
} from '@dovetail/core-ports';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';

import { ScrapedGauges } from './scraped-gauges.js';

/**
 * Seconds, in the spirit of Karpenter's histograms: fine below a second, coarse up to ten minutes.
 */
const secondsBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2, 5, 10, 30, 60, 120, 300, 600,
];

/**
 * The quantiles of a summary, as Karpenter's dashboards ask for them, and over which time: the
 * defaults of Prometheus' own client for Go.
 */
const summaries = { percentiles: [0, 0.5, 0.9, 0.99, 1], maxAgeSeconds: 600, ageBuckets: 5 };

/** Default gauges whose names end in `_total`, as only a counter's may: promtool refuses them. */
const misnamedDefaults = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

type Series = Counter | Gauge | Histogram | Summary;
type Labels = Readonly<Record<string, string>>;

/**
 * The series of a registry by name. Those with a definition are made at once, so that a scrape
 * shows them as 0 before anything has happened. Any other is made at its first use.
 */
class SeriesByName {
  readonly #registry: Registry;
  readonly #definitions: MetricDefinitions;
  readonly #series = new Map<string, Series>();
  /** The labels that each gauge shows, by their text. */
  readonly #shown = new Map<string, Map<string, Labels>>();

  constructor(registry: Registry, definitions: MetricDefinitions) {
    this.#registry = registry;
    this.#definitions = definitions;
    for (const [name, { kind, atScrape }] of Object.entries(definitions)) {
      if (atScrape) continue;
      this.find(name, kind);
      this.#zero(name);
    }
  }

  find(name: string, kind: MetricDefinition['kind'], labels: Labels = {}): Series {
    const known = this.#series.get(name);
    if (known !== undefined) return known;
    const made = this.#make(name, kind, labels);
    this.#series.set(name, made);
    return made;
  }

  set(name: string, value: number, labels: Labels): void {
    (this.find(name, 'gauge', labels) as Gauge).set({ ...labels }, value);
    const shown = this.#shown.get(name) ?? new Map<string, Labels>();
    this.#shown.set(name, shown.set(JSON.stringify(labels), labels));
  }

  /** Takes back the values of a gauge that carry all of these labels. */
  remove(name: string, labels: Labels): void {
    const gauge = this.#series.get(name);
    if (!(gauge instanceof Gauge)) return;
    const shown = this.#shown.get(name) ?? new Map<string, Labels>();
    for (const [key, set] of shown) {
      if (!Object.entries(labels).every(([label, value]) => lookUp(set, label) === value)) continue;
      gauge.remove({ ...set });
      shown.delete(key);
    }
  }

  /** Empties the gauges of these names, but for what is shown from the start. */
  resetGauges(names: readonly string[]): void {
    for (const name of names) {
      const series = this.#series.get(name);
      if (!(series instanceof Gauge)) continue;
      series.reset();
      this.#shown.delete(name);
      this.#zero(name);
    }
  }

  #make(name: string, kind: MetricDefinition['kind'], labels: Labels): Series {
    const {
      help = name.replaceAll('_', ' '),
      labels: declared = [],
      buckets = secondsBuckets,
    }: Partial<MetricDefinition> = lookUp(this.#definitions, name) ?? {};
    const labelNames = [...new Set([...declared, ...Object.keys(labels)])];
    const config = { name, help, labelNames, registers: [this.#registry] };
    if (kind === 'counter') return new Counter(config);
    if (kind === 'summary') return new Summary({ ...config, ...summaries });
    return kind === 'gauge'
      ? new Gauge(config)
      : new Histogram({ ...config, buckets: [...buckets] });
  }

  #zero(name: string): void {
    const series = this.#series.get(name);
    for (const labels of lookUp(this.#definitions, name)?.known ?? [])
      if (series instanceof Counter) series.inc({ ...labels }, 0);
      else if (series instanceof Gauge) series.set({ ...labels }, 0);
      else if (series instanceof Histogram) series.zero({ ...labels });
  }
}

/** The metrics of a process, and the page that shows them. */
export type ProcessMetrics = {
  readonly metrics: Metrics & ScrapedMetrics;
  /** The page, in parts of bounded size. Other work has its turn between two of them. */
  readonly render: () => AsyncGenerator<string>;
  readonly contentType: string;
  /**
   * Empties the gauges of these names. A replica that no longer leads calls it: what it measured as
   * the leader is the next leader's to say, and sums over replicas would count it twice.
   */
  readonly resetGauges: (names: readonly string[]) => void;
};

/**
 * Prometheus metrics. A name keeps the kind and the labels of its definition, or, without one, of
 * its first use. A clash is a bug and throws.
 */
export function createMetrics(definitions: MetricDefinitions = {}): ProcessMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedDefaults) registry.removeSingleMetric(name);
  const series = new SeriesByName(registry, definitions);
  const scraped = new ScrapedGauges(definitions);
  const metrics: Metrics & ScrapedMetrics = {
    count: (name, labels = {}, by = 1) =>
      (series.find(name, 'counter', labels) as Counter).inc({ ...labels }, by),
    set: (name, value, labels = {}) => series.set(name, value, labels),
    show: (name, samples) => scraped.show(name, samples),
    remove: (name, labels = {}) => series.remove(name, labels),
    observe: (name, value, labels = {}) =>
      (series.find(name, 'histogram', labels) as Histogram | Summary).observe({ ...labels }, value),
  };
  return {
    metrics,
    render: async function* render() {
      yield await registry.metrics();
      yield* scraped.render();
    },
    contentType: registry.contentType,
    resetGauges: (names) => series.resetGauges(names),
  };
}
