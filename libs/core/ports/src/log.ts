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
