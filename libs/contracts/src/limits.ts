const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/** Every size and time of the contracts, in one place. */
export const limits = {
  /** The most bytes of one payload; what is larger travels in parts. Half of NATS' default of 1 MiB, so that headers always fit. */
  messageBytesMax: 512 * 1024,
  /** The most parts of one blob: 64 MiB are refused before they are collected. */
  blobPartsMax: 128,
  /** How long parts of blobs are kept: as long as what names them, and a margin. */
  blobAgeMs: 2 * minuteMs,
  /** How long batches and plans wait for someone to take them. */
  workAgeMs: minuteMs,
  /** How long decisions can be read. */
  decisionAgeMs: 7 * 24 * 60 * minuteMs,
  /** How long the state feed remembers that an object is gone; a follower that was away for longer starts anew. */
  tombstoneMs: 10 * minuteMs,
  /** How long a verdict is told: pod-watcher has acted on it long before. */
  verdictMs: 10 * minuteMs,
  /** How long the bus swallows a message id that it has seen. */
  duplicateWindowMs: minuteMs,
  /** Time until work is given to another member when its taker is silent. */
  ackWaitMs: 5_000,
  /** The most batches or plans in work at once. */
  inFlightMax: 64,
  /** Deliveries after which a batch that keeps failing ends with a decision. */
  deliveriesMax: 3,
  alternativesMax: 20,
  stateBytesMax: 512 * mebibyte,
  pendingBytesMax: 64 * mebibyte,
  plansBytesMax: 128 * mebibyte,
  catalogBytesMax: 128 * mebibyte,
  decisionsBytesMax: 512 * mebibyte,
  blobsBytesMax: 128 * mebibyte,
} as const;
