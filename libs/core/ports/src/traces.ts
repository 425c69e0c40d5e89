/** A place in a trace: the ids of W3C trace context, in lower-case hexadecimal digits. */
export type TracePlace = {
  /** 32 digits, not all of them 0. */
  readonly traceId: string;
  /** 16 digits, not all of them 0. */
  readonly spanId: string;
};

/** A value of an attribute of a span. */
type SpanAttribute = string | number | boolean;

/** A piece of work that has ended, as a span of a trace. */
export type Span = TracePlace & {
  readonly name: string;
  /** The span of the same trace that caused this one. Absent: it is the first of its trace. */
  readonly parentId?: string;
  /** By the clock of the service, in milliseconds since 1970. Invariant: startMs <= endMs. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanAttribute>>;
  /** Places in other traces that this work belongs to as well. Absent: none. */
  readonly links?: readonly TracePlace[];
  /** Why the work failed. Absent: it did not. */
  readonly failure?: string;
};

/**
 * Takes in the spans of traces. Ids of spans follow from the keys of effects, so that work that is
 * told again after a restart is the same span. A service without it traces nothing.
 */
export interface Traces {
  /**
   * Whether the spans of this trace are kept. The answer depends on the id alone, so that all
   * services with one sampler give the same.
   */
  keeps(traceId: string): boolean;
  /** Takes a span. It never waits and never throws: spans that find no room are lost. */
  record(span: Span): void;
}
