const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/** Every size and time of the contracts, in one place. */
export const limits = {
  /**
   * The most bytes of one payload. A larger one travels in parts. Half of NATS' default of 1 MiB,
   * so that headers always fit.
   */
  messageBytesMax: 512 * 1024,
  /**
   * The most bytes of one part of a class's catalog. Every service reads each part in one go: 512
   * KiB held a busy service for a third of a second.
   */
  catalogPartBytesMax: 64 * 1024,
  /**
   * The most parts of one blob, 64 MiB. A manifest of more is refused before its parts are
   * collected.
   */
  blobPartsMax: 128,
  /** How long parts of blobs are kept: twice as long as the batch or plan that names them. */
  blobAgeMs: 2 * minuteMs,
  /**
   * How long batches and plans wait to be taken. An older plan is refused anyway, and a pending pod
   * is batched again.
   */
  workAgeMs: minuteMs,
  /** How long decisions can be read. */
  decisionAgeMs: 7 * 24 * 60 * minuteMs,
  /** How long a decision that a sink could not deliver can be read: twice as long as others. */
  deadLetterAgeMs: 14 * 24 * 60 * minuteMs,
  /** How long a plan can be made again, unless the stream of records is full before. */
  recordAgeMs: 24 * 60 * minuteMs,
  /**
   * How long a part counts as kept for further records. The stream keeps messages for as long after
   * `recordAgeMs`, so that a record finds its older parts.
   */
  recordPartAgeMs: 12 * 60 * minuteMs,
  /**
   * How long tombstones stay. A follower that was away for half as long starts over, so it misses
   * none.
   */
  tombstoneMs: 10 * minuteMs,
  /** How long verdicts stay. pod-watcher acts on them within seconds. */
  verdictMs: 10 * minuteMs,
  /** How long the bus discards messages with an id that it has stored. */
  duplicateWindowMs: minuteMs,
  /**
   * How long a member may be silent before its work goes to another. Members that work longer
   * extend it.
   */
  ackWaitMs: 5_000,
  /** The most batches or plans in work at once. */
  inFlightMax: 64,
  /**
   * The time in which a solver tells the decision of a plan that it has published. After it the
   * launcher tells the decision of a plan that it has received, in case the solver is gone. It is
   * shorter than `duplicateWindowMs`, so the bus discards the second of the two.
   */
  planToldMs: 40_000,
  /** The failed attempts after which a batch ends with the decision `unschedulable`. */
  deliveriesMax: 3,
  /**
   * The longest that one message keeps an offering from being bought. A service that a thief has
   * taken over could otherwise stop all launches for good by one.
   */
  avoidedMsMax: 24 * 60_000,
  /** The most alternatives in one decision. */
  alternativesMax: 20,
  // The most bytes of each stream on NATS' disk. Queues and logs drop their oldest message beyond
  // it; state and catalog refuse new ones. The numbers trade disk for room, and are not measured on
  // clusters of thousands of nodes.
  stateBytesMax: 512 * mebibyte,
  pendingBytesMax: 64 * mebibyte,
  plansBytesMax: 128 * mebibyte,
  catalogBytesMax: 128 * mebibyte,
  decisionsBytesMax: 512 * mebibyte,
  deadLettersBytesMax: 128 * mebibyte,
  blobsBytesMax: 128 * mebibyte,
  recordsBytesMax: 256 * mebibyte,
} as const;
