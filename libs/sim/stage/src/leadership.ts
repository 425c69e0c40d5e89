import { type Leadership, LeadershipLost, type StopSignal } from '@dovetail/core-ports';

/**
 * Leads at once, in this epoch, until the run is stopped or the epoch ends. It uses no lease. Once
 * `office` is aborted the leadership is lost, and the epoch has yet to notice.
 */
export function leading(epoch = 1, office?: StopSignal): Leadership {
  return {
    held: () => office?.aborted !== true,
    epoch: () => epoch,
    run: async (stop, onLead) => {
      if (stop.aborted) return;
      try {
        await onLead({
          number: epoch,
          stop,
          guardedWrite: () => Promise.resolve(),
          outrun: () => Promise.resolve(),
          inherited: '',
        });
      } catch (error) {
        if (!(error instanceof LeadershipLost)) throw error;
      }
    },
  };
}
