import {
  type Decision,
  planDecisionId,
  type PlanMessage,
  replacedNodes,
  type Replacement,
} from '@dovetail/contracts';
import { compareText, formatResources } from '@dovetail/core-kube-model';
import { hasSizedNodes, type Reason } from '@dovetail/core-scheduling';

import { groupBy } from '../work/group-by.js';
import { countText } from './count-text.js';
import type { NewDecision } from './decisions.js';

/** The most options and reasons that a decision lists: enough to explain it, few enough to read. */
const alternativesMax = 20;

/** A plan as a decision: its nodes and price, its pods, and the other options of each bin. */
export function decisionOfPlan(message: PlanMessage): NewDecision {
  const { plan, cause } = message;
  const pools = new Map(
    plan.newNodes.map((bin) => [`${bin.pool.kind}/${bin.pool.name}`, bin.pool]),
  );
  const [onlyPool] = pools.size === 1 ? [...pools.values()] : [];
  return {
    id: planDecisionId(message),
    kind: 'plan',
    // It is told once the plan is published, and the launcher may have admitted it by then.
    atMs: message.createdMs,
    ...(onlyPool === undefined ? {} : { pool: onlyPool }),
    summary: summaryOf(message),
    objects:
      cause.kind === 'replacement'
        ? replacedNodes(cause).map((node) => ({
            kind: 'Node',
            name: node.nodeName,
            uid: node.nodeUid,
          }))
        : [],
    reasons: reasonsOf(plan),
    alternatives: alternativesOf(plan),
    priceMicrosPerHour: plan.priceMicrosPerHour,
    ...(plan.bound.kind === 'none'
      ? {}
      : { lowerBoundMicrosPerHour: plan.bound.priceMicrosPerHour }),
    planId: message.id,
    facts: factsOf(message),
  };
}

/** The options of each bin that a decision lists, cheapest first. */
const alternativesOf = (plan: PlanMessage['plan']): Decision['alternatives'] =>
  plan.newNodes
    .flatMap((bin) =>
      bin.options.map((option) => ({
        what: `${bin.id}: ${option.instanceType} ${option.zone} ${option.capacityType}`,
        priceMicrosPerHour: option.priceMicrosPerHour,
      })),
    )
    .slice(0, alternativesMax);

/**
 * How far the price may be above the least possible, such as `0.0184`; empty without a bound that
 * applies.
 */
const gapText = (plan: PlanMessage['plan']): string => gapOf(plan)?.toFixed(4) ?? '';

/** The amounts that pods without requests count as, such as `cpu=25m,memory=250Mi`. */
const assumedText = ({ assumedRequests = {} }: PlanMessage['plan']): string =>
  Object.entries(formatResources(assumedRequests))
    .map(([name, amount]) => `${name}=${amount}`)
    .join(',');

const factsOf = ({ plan, cause, solveMs }: PlanMessage): Decision['facts'] => ({
  group: cause.kind === 'pending' ? cause.group : '',
  pods: String(plan.stats.pods),
  classes: String(plan.stats.classes),
  newNodes: String(plan.newNodes.length),
  options: String(plan.newNodes[0]?.options.length ?? 0),
  unplaced: String(plan.unplaced.length),
  steps: String(plan.steps),
  solveMs: String(solveMs),
  bound: plan.bound.kind,
  gap: gapText(plan),
  nodeChargeMicrosPerHour: String(plan.nodeChargeMicrosPerHour ?? 0),
  assumedRequests: assumedText(plan),
});

/** The reasons for the nodes, for their absence, and for unplaced pods. */
function reasonsOf({ newNodes, placements, unplaced }: PlanMessage['plan']): readonly Reason[] {
  const pods = placements.reduce((sum, { podUids }) => sum + podUids.length, 0);
  const room: readonly Reason[] =
    pods === 0
      ? []
      : [
          {
            code: 'existing-room',
            message: `${countText(pods, 'pod')} on nodes that exist or are starting: no new node is needed`,
            values: { pods: String(pods), nodes: String(placements.length) },
          },
        ];
  const reasons = [
    ...newNodes.flatMap(({ notes }) => notes),
    ...room,
    ...unplaced.flatMap((each) => each.reasons),
  ];
  return reasons.length === 0
    ? [{ code: 'pod-gone', message: 'none of the pods waits any more', values: {} }]
    : reasons.slice(0, alternativesMax);
}

/** `ip-10-0-0-1`, or `ip-10-0-0-1 and 199 others`. */
function namesOf({ nodeName, others = [] }: Replacement): string {
  if (others.length === 0) return nodeName;
  return `${nodeName} and ${countText(others.length, 'other')}`;
}

/** The cause that most pods share, and how many pods have others. */
function causesText(unplaced: PlanMessage['plan']['unplaced']): string {
  const causes = groupBy(unplaced, ({ reasons }) => reasons[0]?.message ?? 'no reason given');
  const [[cause, pods] = ['', []]] = [...causes].sort(
    ([a, ofA], [b, ofB]) => ofB.length - ofA.length || compareText(a, b),
  );
  const others = unplaced.length - pods.length;
  return others === 0 ? cause : `${cause} (${countText(others, 'pod')} for other reasons)`;
}

function summaryOf({ plan, cause }: PlanMessage): string {
  const placed = plan.newNodes.reduce((sum, bin) => sum + bin.podUids.length, 0);
  const cheapest = plan.newNodes.map((bin) => bin.options[0]?.instanceType ?? 'nothing');
  const counted = [...new Set(cheapest)].map(
    (type) => `${cheapest.filter((each) => each === type).length}× ${type}`,
  );
  const existing = plan.placements.reduce((sum, placement) => sum + placement.podUids.length, 0);
  const parts = [
    ...(plan.newNodes.length > 0
      ? [
          `${countText(placed, 'pod')} on ${countText(plan.newNodes.length, 'new node')} (${counted.slice(0, 4).join(', ')}${counted.length > 4 ? ', …' : ''})`,
        ]
      : []),
    ...(existing > 0 ? [`${countText(existing, 'pod')} on nodes that exist`] : []),
    ...(plan.unplaced.length > 0
      ? [`${countText(plan.unplaced.length, 'pod')} without a place: ${causesText(plan.unplaced)}`]
      : []),
  ];
  const why =
    cause.kind === 'replacement' ? `to replace ${namesOf(cause)} (${cause.reason}): ` : '';
  return `${why}${parts.join('; ') || 'nothing to do'}`;
}

/**
 * The cost of a plan above its lower bound (0.1: 10 %); undefined if it buys nothing or has no
 * bound that applies.
 */
export const gapOf = ({
  newNodes,
  bound,
  priceMicrosPerHour,
}: Pick<PlanMessage['plan'], 'newNodes' | 'bound' | 'priceMicrosPerHour'>): number | undefined =>
  bound.priceMicrosPerHour > 0 && newNodes.length > 0 && !hasSizedNodes({ newNodes })
    ? priceMicrosPerHour / bound.priceMicrosPerHour - 1
    : undefined;
