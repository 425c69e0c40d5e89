import type { FeedMirror, UnreadableObjects, Wake } from '@dovetail/service-kit';

import type { Batches } from './batches.js';
import type { Pending } from './pending.js';

/** The state that the loops of one epoch share. */
export type Parts = {
  readonly feed: FeedMirror;
  readonly pending: Pending;
  readonly batches: Batches;
  readonly unreadable: UnreadableObjects;
  /** Raised when the pending pods are worth another look. */
  readonly wake: Wake;
};
