import type { Decision, DecisionKind } from '@dovetail/contracts';
import type { Receiver } from '@dovetail/core-ports';

/** A sink as people set it up. */
export type SinkSpec = {
  /** Names its consumer on the bus, and with it its place in the stream. */
  readonly name: string;
  readonly receiver: Receiver;
  /** Only these kinds. Absent: all. */
  readonly kinds?: readonly DecisionKind[];
  /** Only decisions with one of these reason codes. Absent: all. */
  readonly reasons?: readonly string[];
  /** Only decisions about pools of these names. Absent: all. */
  readonly pools?: readonly string[];
  /** Where the sink begins at its very first start. */
  readonly from: 'first' | 'now';
  /** A decision of this age is given up if the receiver keeps failing. */
  readonly giveUpAfterMs: number;
};

/** Whether the sink is asked to deliver the decision. */
export const wants = (
  { kinds, reasons, pools }: Pick<SinkSpec, 'kinds' | 'reasons' | 'pools'>,
  decision: Decision,
): boolean =>
  (kinds === undefined || kinds.includes(decision.kind)) &&
  (reasons === undefined || decision.reasons.some(({ code }) => reasons.includes(code))) &&
  (pools === undefined || (decision.pool !== undefined && pools.includes(decision.pool.name)));
