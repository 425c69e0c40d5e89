import type { StopSignal } from './clock.js';

export type Headers = Readonly<Record<string, string>>;

export type OutgoingMessage = {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers?: Headers;
  /** De-duplicates within the stream's window; says which telling it is (epoch, round or generation), see docs/contracts.md. */
  readonly messageId?: string;
  /** The publisher believes that the subject's last sequence is this (0: none); otherwise `wrong-last-sequence`. */
  readonly expectLastSubjectSequence?: number;
  /** The stream forgets the message after this time; at least 1,000 and only in streams of `keep: 'last'`. Absent: kept as the stream says. */
  readonly ttlMs?: number;
};

/** Where a follower begins: at the last message of each subject, at everything the stream holds, or at what comes from now on. */
export type FollowFrom = 'last-per-subject' | 'first' | 'now';

export type PublishAck = { readonly stream: string; readonly sequence: number; readonly duplicate: boolean };

export type DeliveredMessage = {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers: Headers;
  readonly sequence: number;
  readonly timeMs: number;
};

/** A stream's identity: it changes when the stream is deleted and made again, and sequences start anew. */
export type StreamPosition = { readonly incarnation: string; readonly lastSequence: number };

/** What a follower sees: all last messages, `caught-up`, then live ones; `reset` when the stream was lost, purged or made anew. */
export type FollowEvent =
  | { readonly kind: 'message'; readonly message: DeliveredMessage }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string };

export interface WorkItem {
  readonly message: DeliveredMessage;
  /** 1 for the first delivery. */
  readonly deliveries: number;
  ack(): Promise<void>;
  /** Ask for redelivery after a delay. */
  nak(delayMs: number): Promise<void>;
  /** Not done yet: extends the time until redelivery. */
  working(): Promise<void>;
}

export type StreamSpec = {
  readonly name: string;
  readonly subjects: readonly string[];
  /** `last`: one message per subject is kept; `work`: until acked, one per subject, for `maxAgeMs`; `log`: all, for `maxAgeMs`. */
  readonly keep: 'last' | 'work' | 'log';
  readonly maxAgeMs?: number;
  readonly maxBytes: number;
  readonly duplicateWindowMs: number;
};

/** The one consumer of a work stream; its competing members share the deliveries. */
export type WorkerSpec = { readonly stream: string; readonly name: string; readonly ackWaitMs: number; readonly inFlightMax: number; readonly filter?: string };

export type BusErrorCode = 'unavailable' | 'timeout' | 'wrong-last-sequence' | 'no-responders' | 'too-large' | 'server-too-old' | 'denied' | 'no-stream';

export class BusError extends Error {
  override readonly name = 'BusError';
  readonly code: BusErrorCode;
  constructor(code: BusErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The message bus: streams that keep, queues that share work, and request-reply.
 * At least once everywhere. Every call may reject with BusError; `unavailable` and `timeout` are worth trying again.
 */
export interface Bus {
  /** Makes the streams that are missing and updates those that differ. Safe to call from every service, at any time. */
  ensureStreams(specs: readonly StreamSpec[]): Promise<void>;
  publish(message: OutgoingMessage): Promise<PublishAck>;
  /** In order, from the last message per subject unless `from` says otherwise, for as long as `stop` allows; survives reconnects by itself. */
  follow(options: { stream: string; filters: readonly string[]; from?: FollowFrom }, stop: StopSignal): AsyncIterable<FollowEvent>;
  /** Pulls work; ends when `stop` is aborted. Survives reconnects and makes its consumer again when it is gone. */
  work(spec: WorkerSpec, stop: StopSignal): AsyncIterable<WorkItem>;
  /** Last sequence per subject: what the stream holds now. */
  lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>>;
  position(stream: string): Promise<StreamPosition>;
  lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined>;
  request(subject: string, payload: Uint8Array, options: { timeoutMs: number; headers?: Headers }): Promise<DeliveredMessage>;
  /** Answers requests as one member of the queue group until `stop`. The handler's rejection is sent as an error reply. */
  serve(options: { subject: string; queue: string }, handler: (request: DeliveredMessage) => Promise<Uint8Array>, stop: StopSignal): Promise<void>;
  /** Whether the connection is up, for readiness. */
  connected(): boolean;
}
