import type { StopSignal } from './clock.js';

/** Headers of a message, by name. */
export type Headers = Readonly<Record<string, string>>;

/** A message to publish. */
export type OutgoingMessage = {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers?: Headers;
  /**
   * Names this publish within the stream's duplicate window: epoch, round or generation
   * (docs/contracts.md).
   */
  readonly messageId?: string;
  /**
   * The subject's last sequence must be this (0: none). Otherwise the publish is refused as
   * `wrong-last-sequence`.
   */
  readonly expectLastSubjectSequence?: number;
  /**
   * The stream drops the message after this time. At least 1,000, and only with `keep: 'last'`.
   * Absent: the stream decides.
   */
  readonly ttlMs?: number;
};

/**
 * Where a follower begins: at the last message of each subject, at the stream's first message, at
 * new messages only, at a sequence, or at the first message that was stored at a time or later. A
 * sequence beyond the next one belongs to a stream that was lost: it is told as `reset`.
 */
export type FollowFrom =
  | 'last-per-subject'
  | 'first'
  | 'now'
  | { readonly sequence: number }
  | { readonly timeMs: number };

/** The stream's answer to a publish. `duplicate`: the stream already held a message of this id. */
export type PublishAck = {
  readonly stream: string;
  readonly sequence: number;
  readonly duplicate: boolean;
};

/** A message as a stream or a request delivers it. `timeMs` is when the stream stored it. */
export type DeliveredMessage = {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers: Headers;
  readonly sequence: number;
  readonly timeMs: number;
};

/**
 * The end of a stream. Its incarnation changes when the stream is made again, and then sequences
 * start anew.
 */
export type StreamPosition = { readonly incarnation: string; readonly lastSequence: number };

/** Both ends of a stream. It holds no message if the first sequence is past the last. */
export type StreamExtent = StreamPosition & { readonly firstSequence: number };

/**
 * An event of a follower: stored messages, `caught-up`, then live ones. `reset`: the stream was
 * lost, purged or made again.
 */
export type FollowEvent =
  | { readonly kind: 'message'; readonly message: DeliveredMessage }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string };

/** A message of a work stream. The bus delivers it again unless it is acked. */
export interface WorkItem {
  readonly message: DeliveredMessage;
  /** 1 for the first delivery. */
  readonly deliveries: number;
  /** Done: the message leaves the stream. */
  ack(): Promise<void>;
  /** Asks for redelivery after a delay. */
  nak(delayMs: number): Promise<void>;
  /** Extends the time until redelivery, because the work is still going on. */
  working(): Promise<void>;
}

/** A stream as it should be. */
export type StreamSpec = {
  readonly name: string;
  readonly subjects: readonly string[];
  /**
   * `last` keeps one message per subject. `work` keeps one per subject until it is acked, for
   * `maxAgeMs` at most. `log` keeps all for `maxAgeMs`.
   */
  readonly keep: 'last' | 'work' | 'log';
  readonly maxAgeMs?: number;
  readonly maxBytes: number;
  readonly duplicateWindowMs: number;
  /**
   * Work goes on without the stream. One that the server does not make, for want of storage for
   * instance, is told of and holds up no other. Absent: it is needed.
   */
  readonly isOptional?: true;
};

/**
 * The consumer of a stream. Its members compete for the deliveries. The bus keeps its place by
 * name, so it goes on where it was. An ack ends a message of a work stream for all, and a message
 * of a log for this consumer alone.
 */
export type WorkerSpec = {
  readonly stream: string;
  readonly name: string;
  readonly ackWaitMs: number;
  readonly inFlightMax: number;
  readonly filter?: string;
  /**
   * Where a consumer begins that the bus does not know yet: at the first message kept (default), or
   * at new messages only. It counts no more once the consumer exists.
   */
  readonly from?: 'first' | 'now';
};

/** The messages of a queue that are not acked yet. */
export type QueueLag = {
  /** No member has got them yet. */
  readonly waiting: number;
  /** A member has got them and works on them, or has given them back. */
  readonly taken: number;
};

/** The kinds of a BusError. The remedy follows from the code. */
export type BusErrorCode =
  | 'unavailable'
  | 'timeout'
  | 'wrong-last-sequence'
  | 'no-responders'
  | 'too-large'
  | 'full'
  | 'server-too-old'
  | 'denied'
  | 'no-stream'
  | 'stream-refused';

/**
 * A call of the bus failed. `unavailable` and `timeout` are worth another try; `full` is, once
 * there is room in the stream again. `stream-refused`: a stream is there that may not be trusted.
 */
export class BusError extends Error {
  override readonly name = 'BusError';
  readonly code: BusErrorCode;
  constructor(code: BusErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Makes streams. Every call of the bus's ports may reject with BusError; `unavailable` and
 * `timeout` are worth another try.
 */
export interface StreamAdmin {
  /**
   * Makes streams that are missing and updates those that differ, if this client may. Any service
   * may call it at any time. It rejects if a stream that is needed cannot be had.
   */
  ensureStreams(specs: readonly StreamSpec[]): Promise<void>;
}

/** Publishes messages into streams, at least once. */
export interface Publisher {
  /** Resolves when the stream has stored the message. */
  publish(message: OutgoingMessage): Promise<PublishAck>;
}

/** Reads streams. */
export interface StreamReader {
  /**
   * Reads in order for as long as `stop` allows, from the last message of each subject unless
   * `from` says otherwise. Reconnects by itself.
   */
  follow(
    options: { stream: string; filters: readonly string[]; from?: FollowFrom },
    stop: StopSignal,
  ): AsyncIterable<FollowEvent>;
  /** The last sequence of each subject that the stream holds now. */
  lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>>;
  /** Where the stream begins and ends now. */
  position(stream: string): Promise<StreamExtent>;
  /** The bytes that the stream holds now, as its `maxBytes` counts them. */
  bytesOf(stream: string): Promise<number>;
  /** How far the members of a queue are behind. Undefined: none has ever worked on it. */
  lagOf(queue: Pick<WorkerSpec, 'stream' | 'name' | 'filter'>): Promise<QueueLag | undefined>;
  /** Undefined when the stream holds no message of that subject. */
  lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined>;
}

/** Takes work from streams that competing members share. */
export interface WorkConsumer {
  /** Pulls work until `stop`. Survives reconnects and makes its consumer again when it is gone. */
  work(spec: WorkerSpec, stop: StopSignal): AsyncIterable<WorkItem>;
}

/** Asks another service. */
export interface Requester {
  /** Rejects with `no-responders` when no service serves the subject. */
  request(
    subject: string,
    payload: Uint8Array,
    options: { timeoutMs: number; headers?: Headers },
  ): Promise<DeliveredMessage>;
}

/** Answers other services. */
export interface Responder {
  /**
   * Answers as one member of the queue group until `stop`. A rejection of the handler is sent as an
   * error reply.
   */
  serve(
    options: { subject: string; queue: string },
    handler: (request: DeliveredMessage) => Promise<Uint8Array>,
    stop: StopSignal,
  ): Promise<void>;
}

/** The connection to the bus. */
export interface BusConnection {
  /** Whether the connection is up, for readiness. */
  connected(): boolean;
}

/**
 * All of the bus's ports in one object. Adapters, twins and tests provide it; a service asks only
 * for the ports that it uses.
 */
export type Bus = StreamAdmin &
  Publisher &
  StreamReader &
  WorkConsumer &
  Requester &
  Responder &
  BusConnection;
