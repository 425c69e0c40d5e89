/** A CloudEvent of version 1.0 whose data is JSON. `id` with `source` is unique per fact. */
export type CloudEvent = {
  readonly id: string;
  /** A URI reference of the sender. */
  readonly source: string;
  readonly type: string;
  /** The object that it is about. */
  readonly subject?: string;
  /** RFC 3339. */
  readonly time?: string;
  /** W3C trace context: the specification's extension for distributed tracing. */
  readonly traceparent?: string;
  readonly data: Readonly<Record<string, unknown>>;
};

/** An event on its way to a receiver, for programs and for people. */
export type Parcel = {
  readonly event: CloudEvent;
  /** The same in one line of plain text. */
  readonly text: string;
};

/** The answer of a receiver to one parcel. */
export type Outcome =
  | { readonly kind: 'taken' }
  /** It will never be taken as it is: trying again is of no use. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Another try may help, no earlier than after `waitMs` if the receiver has said so. */
  | { readonly kind: 'again'; readonly reason: string; readonly waitMs?: number };

/** Takes events over the network. */
export interface Receiver {
  /** The most parcels of one call. */
  readonly batchMax: number;
  /**
   * Delivers the parcels in one call, and answers with an outcome for each, in their order. It ends
   * by itself within two minutes, and rejects with nothing: a failure of the network is an outcome.
   */
  deliver(parcels: readonly Parcel[]): Promise<readonly Outcome[]>;
  /** Ends its connections. */
  close(): void;
}
