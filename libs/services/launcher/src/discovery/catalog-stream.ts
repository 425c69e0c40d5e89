import { followCatalog } from '@dovetail/contracts';
import type { Clock, Log, Metrics, StopSignal } from '@dovetail/core-ports';
import { reportMalformed } from '@dovetail/service-kit';

import { type AnnouncementDeps, announceUnavailable } from './announcement.js';
import type { Classes } from './classes.js';
import type { UnavailableOfferings } from './unavailable.js';

/** The ports and parts that following the catalog needs. */
export type CatalogStreamDeps = AnnouncementDeps & {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly classes: Classes;
  readonly unavailable: UnavailableOfferings;
};

/**
 * Follows the catalog's stream until `stop`. Offerings that a predecessor or the reaper marked as
 * unavailable are taken over, and catalogs of classes that are gone are dropped. When the stream is
 * lost, catalogs and marks are published again.
 */
export async function followCatalogStream(
  deps: CatalogStreamDeps,
  stop: StopSignal,
): Promise<void> {
  for await (const event of followCatalog(deps.channel, stop)) {
    if (event.kind === 'unavailable') deps.unavailable.learn(event.offering);
    if (event.kind === 'malformed') reportMalformed(deps, event);
    if (event.kind === 'class') deps.classes.stored.add(event.part.classUid, event.part.part);
    if (event.kind === 'class-gone') deps.classes.stored.remove(event.classUid, event.part);
    if (event.kind === 'caught-up') deps.classes.sweep();
    if (event.kind === 'reset') republish(deps);
  }
}

function republish(deps: CatalogStreamDeps): void {
  deps.classes.stored.clear();
  deps.classes.republish();
  for (const mark of deps.unavailable.avoided(deps.clock.nowMs())) announceUnavailable(deps, mark);
}
