import { type Channel, publishUnavailable, type UnavailableOffering } from '@dovetail/contracts';
import { offeringKey } from '@dovetail/core-ec2-model';
import type { Outbox } from '@dovetail/service-kit';

/** The channel and outbox of announcements, and the numbers of their records. */
export type AnnouncementDeps = {
  readonly channel: Channel;
  readonly outbox: Outbox;
  /** A new generation for each record that is published. */
  readonly generation: () => string;
};

/**
 * Publishes that an offering is avoided until a time. Nothing waits for the solvers to know; while
 * the bus is away the outbox keeps it, until the time is over.
 */
export function announceUnavailable(
  { channel, outbox, generation }: AnnouncementDeps,
  mark: UnavailableOffering,
): void {
  outbox.add({
    key: `unavailable/${offeringKey(mark)}`,
    untilMs: mark.untilMs,
    send: () => publishUnavailable(channel, mark, { generation: generation() }),
  });
}
