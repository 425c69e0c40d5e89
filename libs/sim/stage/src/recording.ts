import { lookUp } from '@dovetail/core-invariant';
import type {
  Log,
  LogFields,
  Metrics,
  MetricSample,
  MetricSamples,
  ScrapedMetrics,
} from '@dovetail/core-ports';

/** A line that was logged. */
export type LogEntry = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly name: string;
  readonly message: string;
  readonly fields: LogFields;
};

/** A log that keeps its entries. `STAGE_LOG=1` in the environment also prints them. */
export class RecordingLog implements Log {
  readonly entries: LogEntry[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  debug(name: string, message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'debug', name, message, fields });
  }
  info(name: string, message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'info', name, message, fields });
  }
  warn(name: string, message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'warn', name, message, fields });
  }
  error(name: string, message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'error', name, message, fields });
  }

  /** Each entry as one line: level, name, message, fields. */
  get lines(): readonly string[] {
    return this.entries.map(lineOf);
  }

  #keep(entry: LogEntry): void {
    this.entries.push(entry);
    if (process.env['STAGE_LOG'] !== undefined)
      process.stderr.write(`${String(this.#nowMs())} ${lineOf(entry)}\n`);
  }
}

const lineOf = ({ level, name, message, fields }: LogEntry): string =>
  `${level} ${name} ${message} ${JSON.stringify(fields)}`;

/** A value that was given to a metric. */
export type Sample = {
  readonly kind: 'count' | 'set' | 'observe';
  readonly metric: string;
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
};

const matches = (sample: Sample, metric: string, labels: Sample['labels']): boolean =>
  sample.metric === metric &&
  Object.entries(labels).every(([key, value]) => lookUp(sample.labels, key) === value);

/** Metrics that keep every sample that was not taken back. */
export class RecordingMetrics implements Metrics, ScrapedMetrics {
  readonly samples: Sample[] = [];
  readonly #sources = new Map<string, () => MetricSamples>();

  count(metric: string, labels: Readonly<Record<string, string>> = {}, by = 1): void {
    this.samples.push({ kind: 'count', metric, value: by, labels });
  }
  set(metric: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    this.samples.push({ kind: 'set', metric, value, labels });
  }
  observe(metric: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    this.samples.push({ kind: 'observe', metric, value, labels });
  }

  /** Keeps the source, for `scraped`. */
  show(metric: string, samples: () => MetricSamples): () => void {
    this.#sources.set(metric, samples);
    return () => this.#sources.delete(metric);
  }

  /** The samples that a scrape would show now of a gauge that is computed at each scrape. */
  scraped(metric: string): readonly MetricSample[] {
    return [...(this.#sources.get(metric)?.() ?? [])].filter((sample) => sample !== undefined);
  }

  remove(metric: string, labels: Readonly<Record<string, string>> = {}): void {
    const kept = this.samples.filter((sample) => !matches(sample, metric, labels));
    this.samples.splice(0, this.samples.length, ...kept);
  }

  /**
   * The present value of a metric: the sum of its counts, or the last value set. With labels, it
   * reads only samples that carry all of them. Undefined when there is no sample.
   */
  value(metric: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.samples.filter((sample) => matches(sample, metric, labels));
    const last = found.at(-1);
    if (last?.kind !== 'count') return last?.value;
    return found.reduce((sum, sample) => sum + sample.value, 0);
  }
}
