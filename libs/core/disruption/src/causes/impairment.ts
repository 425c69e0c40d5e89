import type { ImpairedInstance, InstanceFinding } from '@dovetail/core-ec2-model';

import type { InterruptionPolicy } from './interruption.js';

/** A failure this short may be a hiccup (`UnhealthyThreshold` of Karpenter). */
const toleratedMs = 120_000;

/** Karpenter's names of a finding: of its metric's label, and of the cause. */
const names = {
  'instance-check': { category: 'InstanceStatus', name: 'instance_status' },
  'system-check': { category: 'SystemStatus', name: 'system_status' },
  event: { category: 'EventStatus', name: 'event_status' },
} as const satisfies Readonly<Record<InstanceFinding['kind'], object>>;

/** The response to one finding about an instance. */
export type Impairment = {
  /** Karpenter's category of the finding. */
  readonly category: string;
  readonly policy: InterruptionPolicy;
  /** The finding as a notice. Without a time of EC2, `timeMs` is 0, so that it stays the same. */
  readonly notice: { readonly kind: string; readonly timeMs: number };
};

function impairmentOf(finding: InstanceFinding, nowMs: number): Impairment {
  const { category, name } = names[finding.kind];
  const isEvent = finding.kind === 'event';
  return {
    category,
    policy: {
      event: 'InstanceUnhealthy',
      message: 'An unhealthy warning was triggered',
      name,
      type: 'Warning',
      retire: isEvent ? {} : { deadlineMs: nowMs },
      avoidSpot: false,
      ending: false,
    },
    notice: isEvent
      ? { kind: finding.code, timeMs: 0 }
      : { kind: finding.kind, timeMs: finding.sinceMs },
  };
}

/**
 * The responses to EC2's findings about an instance, one for each category, as Karpenter's
 * `interruption.instancestatus` has them. A check that fails for two minutes ends the node by
 * force. A scheduled event retires it at once and without haste, whenever it is due.
 */
export function impairmentsOf(
  { findings }: ImpairedInstance,
  nowMs: number,
): readonly Impairment[] {
  const standing = findings.filter(
    (finding) => finding.kind === 'event' || nowMs - finding.sinceMs >= toleratedMs,
  );
  return (['instance-check', 'system-check', 'event'] as const).flatMap((kind) => {
    const [first] = standing.filter((finding) => finding.kind === kind);
    return first === undefined ? [] : [impairmentOf(first, nowMs)];
  });
}
