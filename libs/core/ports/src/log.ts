/** Fields of a log line. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Writes structured log lines. `name` is a stable kebab-case name of the event; the message is for
 * people.
 */
export interface Log {
  debug(name: string, message: string, fields?: LogFields): void;
  info(name: string, message: string, fields?: LogFields): void;
  warn(name: string, message: string, fields?: LogFields): void;
  error(name: string, message: string, fields?: LogFields): void;
}

/** One metric as a service registers it, before it writes it. */
export type MetricDefinition = {
  /** A counter by `count`, a gauge by `set`, a histogram or a summary by `observe`. */
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'summary';
  /** The names of its labels. Default: none. */
  readonly labels?: readonly string[];
  /** Its HELP text. */
  readonly help: string;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /**
   * Sets of labels that are known before anything is counted. They are shown as 0 from the start,
   * since `rate` does not see the first increase of a series that appears with it.
   */
  readonly known?: readonly Readonly<Record<string, string>>[];
  /**
   * A gauge that `show` computes at each scrape, since it has too many series to be kept. It has
   * none before.
   */
  readonly atScrape?: true;
};

/** A value of a gauge with its labels. */
export type MetricSample = {
  readonly value: number;
  /**
   * Labels that samples share are best one object: its text is then made once a scrape. A label
   * with an empty value is as good as none, and is left out.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /** Further labels, of this sample alone. */
  readonly more?: Readonly<Record<string, string>>;
};

/** The metrics of a service by name. docs/reference/metrics.md is written from these tables. */
export type MetricDefinitions = Readonly<Record<string, MetricDefinition>>;

/** Writes metrics by name. Each service registers its names and their meaning in one table. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  set(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
  observe(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
  /** Takes back what `set` has shown with all of these labels: its object is gone. */
  remove(name: string, labels?: Readonly<Record<string, string>>): void;
}

/**
 * The samples of a gauge. `undefined` is none: a source that has done some work without a sample
 * yields it, and other work of the process has its turn.
 */
export type MetricSamples = Iterable<MetricSample | undefined>;

/** Gauges that are computed at each scrape. */
export interface ScrapedMetrics {
  /**
   * Shows, at each scrape, what `samples` then yields for a gauge that is declared `atScrape`. Its
   * work is spread over turns of the event loop, so that what it reads may change between two
   * samples. The answer ends it.
   */
  show(name: string, samples: () => MetricSamples): () => void;
}
