import type { GapReply } from '@dovetail/contracts';
import { countText, type NewDecision } from '@dovetail/service-kit';

/** The bound, unless the plan has none that applies. */
const leastOf = ({ bound }: GapReply): number | undefined =>
  bound.kind === 'none' ? undefined : bound.priceMicrosPerHour;

/**
 * The gap in one sentence, such as `12 nodes cost $1.9200/h; a plan from nothing costs $1.8500/h on
 * 11 nodes, and none costs less than $1.8100/h`. It says what the numbers leave out.
 */
function summaryOf(gap: GapReply): string {
  const least = leastOf(gap);
  const { nodes, nodesWithoutPrice, podsUnplaced } = gap;
  const dollars = (micros: number): string =>
    `${gap.priceEstimated ? '~' : ''}$${(micros / 1e6).toFixed(4)}/h`;
  const left =
    nodesWithoutPrice === 0 ? '' : ` without ${String(nodesWithoutPrice)} of unknown price`;
  const unplaced =
    podsUnplaced === 0 ? '' : `; it has no place for ${countText(podsUnplaced, 'pod')}`;
  return [
    `${countText(nodes, 'node')} cost${nodes === 1 ? 's' : ''} ${dollars(gap.priceMicrosPerHour)}${left}`,
    `a plan from nothing costs ${dollars(gap.planPriceMicrosPerHour)} on ${countText(gap.planNodes, 'node')}` +
      (least === undefined ? '' : `, and none costs less than ${dollars(least)}`) +
      unplaced,
  ].join('; ');
}

/**
 * The gap as a decision: the price of the nodes now, that of a plan from nothing as an alternative,
 * and the bound. The same state, with the same answer, is told once.
 */
export function decisionOfGap(gap: GapReply): NewDecision {
  const { incarnation, sequence } = gap.statePosition;
  const { priceMicrosPerHour, planPriceMicrosPerHour, bound } = gap;
  const least = leastOf(gap);
  const said = [priceMicrosPerHour, planPriceMicrosPerHour, bound.priceMicrosPerHour].join('-');
  return {
    id: `gap/${incarnation}/${String(sequence)}/${said}`,
    kind: 'gap',
    summary: summaryOf(gap),
    reasons: [
      {
        code: 'gap-measured',
        message: `a solver planned ${countText(gap.pods, 'pod')} as if none of the nodes was there`,
        values: { bound: bound.kind, pods: String(gap.pods), nodes: String(gap.nodes) },
      },
    ],
    alternatives: [
      {
        what: `a plan from nothing: ${countText(gap.planNodes, 'node')}`,
        priceMicrosPerHour: planPriceMicrosPerHour,
        reason: 'it is a comparison: moving all pods at once would cost more than it saves',
      },
    ],
    priceMicrosPerHour,
    priceEstimated: gap.priceEstimated,
    ...(least === undefined ? {} : { lowerBoundMicrosPerHour: least }),
    facts: factsOf(gap),
  };
}

/** All numbers that are no field of a decision. */
function factsOf({
  priceMicrosPerHour: _price,
  priceEstimated: _estimated,
  statePosition: _position,
  bound,
  ...numbers
}: GapReply): Readonly<Record<string, string>> {
  const texts = Object.entries(numbers).map(([name, value]) => [name, String(value)] as const);
  return { ...Object.fromEntries(texts), bound: bound.kind };
}
