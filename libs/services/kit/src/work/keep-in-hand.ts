import { limits } from '@dovetail/contracts';
import {
  type Clock,
  type Log,
  messageOf,
  type StopSignal,
  type WorkItem,
} from '@dovetail/core-ports';

/**
 * Tells the bus that these items are still being worked on, until `stop`. Otherwise it delivers
 * them again after `limits.ackWaitMs`. The items are read anew each time.
 */
export async function keepInHand(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  items: Iterable<Pick<WorkItem, 'message' | 'working'>>,
  stop: StopSignal,
): Promise<void> {
  for (;;) {
    // Two in three may be lost before the bus delivers again.
    await clock.sleep(limits.ackWaitMs / 3, stop);
    if (stop.aborted) return;
    for (const item of items) {
      // If the item comes again, it is recognised.
      await item
        .working()
        .catch((error: unknown) =>
          log.debug('work-not-kept', 'the bus did not learn that an item is still in work', {
            subject: item.message.subject,
            error: messageOf(error),
          }),
        );
    }
  }
}
