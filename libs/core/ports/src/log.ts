export type LogFields = Readonly<Record<string, unknown>>;
/** Structured log lines; `name` is a stable, greppable identifier of the event (kebab-case), the message is for people. */
export interface Log {
  debug(name: string, message: string, fields?: LogFields): void;
  info(name: string, message: string, fields?: LogFields): void;
  warn(name: string, message: string, fields?: LogFields): void;
  error(name: string, message: string, fields?: LogFields): void;
}

/** Metrics by name; the names and their meaning are registered in one table per service. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  set(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
  observe(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
}
