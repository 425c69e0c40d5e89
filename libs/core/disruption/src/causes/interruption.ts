import type { InterruptionNotice } from '@dovetail/core-ec2-model';

/** The response to a notice. */
export type InterruptionPolicy = {
  /** The reason of the Event, as Karpenter names it. */
  readonly event: string;
  readonly message: string;
  /** Karpenter's name of the kind, for metrics and decisions. */
  readonly name: string;
  readonly type: 'Normal' | 'Warning';
  /** Absent: the node stays, and only the Event is written. */
  readonly retire?: { readonly deadlineMs?: number };
  /** The instance's type and zone is avoided for Spot. */
  readonly avoidSpot: boolean;
  /**
   * The instance is on its way out already. EC2 may have forgotten it, and our own terminations
   * cause the same notice.
   */
  readonly ending: boolean;
};

/** When the node must be empty: before the announced end, at once, or without haste. */
type Deadline = 'before-the-end' | 'now' | 'none';

type Kind = Omit<InterruptionPolicy, 'retire'> & {
  /** Absent: the node stays. */
  readonly deadline?: Deadline;
};

const warning = { type: 'Warning', avoidSpot: false, ending: false } as const;

/** Events, messages and names are Karpenter's, because its users filter by them. */
const kinds: Readonly<Record<InterruptionNotice['kind'], Kind>> = {
  'spot-interrupted': {
    ...warning,
    event: 'SpotInterrupted',
    name: 'spot_interrupted',
    message: 'Spot interruption warning was triggered',
    deadline: 'before-the-end',
    avoidSpot: true,
  },
  'reservation-interrupted': {
    ...warning,
    event: 'CapacityReservationInstanceInterrupted',
    name: 'capacity_reservation_interrupted',
    message: 'Capacity Reservation interruption warning was triggered',
    deadline: 'before-the-end',
  },
  'rebalance-recommended': {
    ...warning,
    type: 'Normal',
    event: 'SpotRebalanceRecommendation',
    name: 'rebalance_recommendation',
    message: 'Spot rebalance recommendation was triggered',
  },
  'scheduled-change': {
    ...warning,
    event: 'InstanceUnhealthy',
    name: 'scheduled_change',
    message: 'An unhealthy warning was triggered',
    deadline: 'none',
  },
  'instance-stopping': {
    ...warning,
    event: 'InstanceStopping',
    name: 'instance_stopped',
    message: 'Instance is stopping',
    deadline: 'now',
    ending: true,
  },
  'instance-terminating': {
    ...warning,
    event: 'InstanceTerminating',
    name: 'instance_terminated',
    message: 'Instance is terminating',
    deadline: 'now',
    ending: true,
  },
};

/** Times that an interruption leaves, in milliseconds. Invariant: 0 <= marginMs <= noticeMs. */
export type NoticeTimes = {
  /** From a Spot notice to the reclaim of the instance (AWS: two minutes). */
  readonly noticeMs: number;
  /** Kept back from it, so that the last pods end before the machine does. */
  readonly marginMs: number;
};

/** The parts of a notice that decide the response. */
type Noticed = Pick<InterruptionNotice, 'kind' | 'timeMs'> & { readonly startMs?: number };

/**
 * A scheduled change that begins sooner than this sets a deadline. A later one leaves the node as
 * much time for its replacement as an expired node has.
 */
const soonMs = 900_000;

/** The deadline of a change that begins soon. Of one that has begun, nobody knows when it ends. */
function deadlineOfChange({ startMs }: Noticed, nowMs: number, marginMs: number) {
  if (startMs === undefined || startMs <= nowMs || startMs - nowMs > soonMs) return {};
  return { deadlineMs: Math.max(nowMs, startMs - marginMs) };
}

/**
 * The policy for a notice that is handled at `nowMs`. A notice is never of the future: one that is
 * dated later is of a clock ahead of ours, and counts from now.
 */
export function policyOf(notice: Noticed, nowMs: number, times: NoticeTimes): InterruptionPolicy {
  const { deadline, ...policy } = kinds[notice.kind];
  if (deadline === undefined) return policy;
  if (deadline === 'none')
    return { ...policy, retire: deadlineOfChange(notice, nowMs, times.marginMs) };
  const endMs = Math.min(notice.timeMs, nowMs) + times.noticeMs - times.marginMs;
  return { ...policy, retire: { deadlineMs: deadline === 'now' ? nowMs : endMs } };
}

/** The facts that decide what to do with a message about one instance. */
export type InterruptionFacts = {
  /** A claim in our mirror has the instance. */
  readonly hasClaim: boolean;
  /**
   * EC2's view: it carries our tags, it carries others', or EC2 does not show it. Absent: EC2 has
   * not been asked.
   */
  readonly instance?:
    | { readonly kind: 'ours'; readonly ageMs: number }
    | { readonly kind: 'foreign' }
    | { readonly kind: 'missing' };
  /**
   * Whether a claim has the instance on the API server now; undefined until that has been asked.
   */
  readonly isClaimedLive?: boolean;
  /** The policy's `ending`. */
  readonly ending: boolean;
  /** How often the queue has given the message. Invariant: 1 <= receives. */
  readonly receives: number;
};

/** How long a message may wait for the claim of its instance. */
export type InterruptionPatience = {
  /** A younger instance may have a claim that our mirror has not seen, in milliseconds. */
  readonly claimAgeMinMs: number;
  /** Receives after which a message that stays unclear is dropped. */
  readonly receivesMax: number;
};

/**
 * The next step for one instance of a message.
 * - `apply`: the claim's node is interrupted.
 * - `ask-cloud`: ask EC2 whose the instance is, then decide again.
 * - `foreign`: the instance is not ours, or its end is the one that we gave it.
 * - `ask-claims`: ask the API server whether a claim has the instance, then decide again.
 * - `later`: leave the message in the queue, because EC2 or our mirror may know more in seconds.
 * - `drop`: it stayed unclear for too long.
 */
export type InterruptionStep = 'apply' | 'ask-cloud' | 'foreign' | 'ask-claims' | 'later' | 'drop';

/**
 * Decides on one instance of a message. The instance of a claim is ours: its notice is obeyed
 * without asking EC2, which is slowest when it takes much away (Karpenter's rule).
 */
export function interruptionStep(
  facts: InterruptionFacts,
  patience: InterruptionPatience,
): InterruptionStep {
  const { instance, hasClaim, ending } = facts;
  if (hasClaim) return 'apply';
  if (instance === undefined) return 'ask-cloud';
  if (instance.kind === 'foreign') return 'foreign';
  // The end of an instance without a claim is mostly the end that we gave it.
  const isLikelyOver = instance.kind === 'missing' || ending;
  if (isLikelyOver && !mayBeClaimed(instance, facts, patience)) return 'foreign';
  if (isLikelyOver && facts.isClaimedLive === undefined) return 'ask-claims';
  // Ours and not paired yet.
  return facts.receives < patience.receivesMax ? 'later' : 'drop';
}

/** The claim of a young instance may not have reached our mirror. */
function mayBeClaimed(
  instance: NonNullable<InterruptionFacts['instance']>,
  { isClaimedLive }: InterruptionFacts,
  { claimAgeMinMs }: InterruptionPatience,
): boolean {
  const isYoung = instance.kind !== 'ours' || instance.ageMs < claimAgeMinMs;
  return isYoung && isClaimedLive !== false;
}
