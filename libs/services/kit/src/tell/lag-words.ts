import type { QueueLag } from '@dovetail/core-ports';

/** How far solvers are behind, in words. Undefined: none has ever run. */
export const lagWords = (lag: QueueLag | undefined): string =>
  lag === undefined
    ? 'no solver has run yet'
    : `batches that wait: ${String(lag.waiting)}, being planned: ${String(lag.taken)}`;
