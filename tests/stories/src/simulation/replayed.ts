import { type Decision, followDecisions, planIdOf, readPlanRecord } from '@dovetail/contracts';
import { planAgain } from '@dovetail/core-scheduling';
import { hash, packing } from '@dovetail/sim-stage';

import type { StoryStage } from '../story-stage.js';

/** The decisions of a story, by the outcome of looking at each and making its plan again. */
export type Replayed = {
  readonly decisions: number;
  /** Those whose plan was made again to the same bytes. */
  readonly same: number;
  /** Those whose plan has no record: it has reached its age, or the bus took none at that time. */
  readonly unkept: number;
  /** Those that no plan led to, such as the end of a claim that a person made. */
  readonly withoutPlan: number;
  /** Decisions without a reason, and plans that were not made again: each with its id. */
  readonly faults: readonly string[];
};

/** The sums of two. */
export const bothReplayed = (one: Replayed, other: Replayed): Replayed => ({
  decisions: one.decisions + other.decisions,
  same: one.same + other.same,
  unkept: one.unkept + other.unkept,
  withoutPlan: one.withoutPlan + other.withoutPlan,
  faults: [...one.faults, ...other.faults],
});

/** Nothing was looked at. */
export const noneReplayed: Replayed = {
  decisions: 0,
  same: 0,
  unkept: 0,
  withoutPlan: 0,
  faults: [],
};

async function decisionsOf({ channel, stop }: StoryStage): Promise<readonly Decision[]> {
  const kept: Decision[] = [];
  for await (const event of followDecisions(channel, stop.signal)) {
    if (event.kind === 'caught-up') return kept;
    if (event.kind === 'decision') kept.push(event.decision);
  }
  return kept;
}

/** The plan or what-if that led to each decision, by the decision's id. */
function plansOf(decisions: readonly Decision[]): ReadonlyMap<string, string> {
  const ofClaims = new Map<string, string>();
  const ofCommands = new Map<string, string>();
  for (const { kind, planId, claimName = '', facts } of decisions) {
    const { whatIf, command = '' } = facts;
    if (kind === 'admit' && planId !== undefined) ofClaims.set(claimName, planId);
    if (whatIf === undefined) continue;
    ofCommands.set(command, whatIf);
    if (planId !== undefined) ofCommands.set(planId, whatIf);
  }
  return new Map(
    decisions.flatMap(({ id, planId, claimName = '', facts: { command = '' } }) => {
      const plan = planId ?? ofCommands.get(command) ?? ofClaims.get(claimName);
      return plan === undefined ? [] : [[id, ofCommands.get(plan) ?? plan] as const];
    }),
  );
}

/**
 * Looks at each decision of a story at its end: it has a reason, and the plan that led to it is
 * made again from its record to the same bytes.
 */
export async function replayed(stage: StoryStage): Promise<Replayed> {
  const decisions = await decisionsOf(stage);
  const plans = plansOf(decisions);
  const outcomes = new Map<string, string>();
  const sum = { decisions: decisions.length, same: 0, unkept: 0, withoutPlan: 0 };
  const faults: string[] = [];
  for (const { id, reasons } of decisions) {
    if (reasons.length === 0) faults.push(`${id} gives no reason`);
    const plan = plans.get(id);
    const outcome = plan === undefined ? '' : (outcomes.get(plan) ?? (await again(stage, plan)));
    if (plan !== undefined) outcomes.set(plan, outcome);
    if (plan === undefined) sum.withoutPlan += 1;
    else if (outcome === 'the same') sum.same += 1;
    else if (outcome === 'not kept') sum.unkept += 1;
    else faults.push(`${id}: its plan is ${outcome}`);
  }
  return { ...sum, faults };
}

/** Makes a plan again. Tells if it is the same, or another, or why it cannot be read. */
async function again({ channel }: StoryStage, planId: string): Promise<string> {
  const read = await readPlanRecord(channel, planId, packing);
  if (read === undefined) return 'not kept';
  if (!read.ok) return read.reason;
  const { record, recorded } = read.value;
  const made = planIdOf(hash, { ...record, plan: planAgain(recorded.input) });
  return made === planId ? 'the same' : 'another';
}
