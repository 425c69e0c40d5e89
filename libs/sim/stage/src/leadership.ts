import type { Leadership, StopSignal } from '@dovetail/core-ports';

/** Leads at once, in this epoch, until the run is stopped or the epoch ends. It uses no lease. */
export function leading(epoch = 1, office?: StopSignal): Leadership {
  return {
    held: () => office?.aborted !== true,
    epoch: () => epoch,
    run: async (stop, onLead) => {
      if (stop.aborted) return;
      await onLead({ number: epoch, stop, guardedWrite: () => Promise.resolve(), inherited: '' });
    },
  };
}
