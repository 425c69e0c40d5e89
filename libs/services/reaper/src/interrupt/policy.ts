import type { InterruptionNotice } from '@dovetail/core-ec2-model';
import type { InterruptionConfig } from '../config.js';

/** What a notice calls for. */
export type InterruptionPolicy = {
  /** The reason of the Event, as Karpenter names it. */
  readonly event: string;
  readonly message: string;
  /** Karpenter's name of the kind, for metrics and decisions. */
  readonly name: string;
  readonly type: 'Normal' | 'Warning';
  /** Absent: only the Event. */
  readonly retire?: { readonly deadlineMs?: number };
  /** The instance's type and zone is avoided for Spot. */
  readonly avoidSpot: boolean;
  /** The instance is on its way out already: EC2 need not know it any more, and our own terminations look the same. */
  readonly ending: boolean;
};

/** The five kinds of messages (six words, because a stop and a termination arrive as one kind). */
export function policyOf(notice: InterruptionNotice, nowMs: number, config: InterruptionConfig): InterruptionPolicy {
  const deadlineMs = notice.timeMs + config.noticeMs - config.marginMs;
  const plain = { type: 'Warning', avoidSpot: false, ending: false } as const;
  switch (notice.kind) {
    case 'spot-interrupted': return { ...plain, event: 'SpotInterrupted', name: 'spot_interrupted', message: 'Spot interruption warning was triggered', retire: { deadlineMs }, avoidSpot: true };
    case 'reservation-interrupted': return { ...plain, event: 'CapacityReservationInstanceInterrupted', name: 'capacity_reservation_interrupted', message: 'Capacity Reservation interruption warning was triggered', retire: { deadlineMs } };
    case 'rebalance-recommended': return { ...plain, type: 'Normal', event: 'SpotRebalanceRecommendation', name: 'rebalance_recommendation', message: 'Spot rebalance recommendation was triggered' };
    case 'scheduled-change': return { ...plain, event: 'InstanceUnhealthy', name: 'scheduled_change', message: 'An unhealthy warning was triggered', retire: {} };
    case 'instance-stopping': return { ...plain, event: 'InstanceStopping', name: 'instance_stopped', message: 'Instance is stopping', retire: { deadlineMs: nowMs }, ending: true };
    case 'instance-terminating': return { ...plain, event: 'InstanceTerminating', name: 'instance_terminated', message: 'Instance is terminating', retire: { deadlineMs: nowMs }, ending: true };
  }
}
