import type { NodeClaim } from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import { isReschedulable, type Pod } from '@dovetail/core-kube-model';

import { type Cause, causeOf, type RetirementLimits } from '../causes/cause.js';
import { type DisruptionNote, note } from '../facts/refusal.js';
import type { Retirement } from '../facts/retirement-record.js';
import type { NodeView } from '../facts/view.js';
import { disruptionBlocks, duplicatesNote, type EligibilityOptions } from '../rules/eligibility.js';
import { movingPods } from '../rules/moving-pods.js';

/**
 * The room that promises keep for the successor of a pod: on a node that is `ready` to take it, or
 * on one that is `coming`.
 */
export type PodRoom = 'ready' | 'coming';

/** Everything that one step of a retirement reads. */
export type RetirementFacts = EligibilityOptions & {
  readonly retirement: Retirement;
  readonly view: NodeView;
  /** The room promised for pods of this node, by UID, as claims and nodes say. */
  readonly rooms: ReadonlyMap<string, PodRoom>;
  readonly limits: RetirementLimits;
  /**
   * Why the launcher refused the plan by which its pods were to get room. Absent: it did not, or
   * not yet.
   */
  readonly refused?: string;
};

/** The next step of a retirement. */
export type RetirementStep =
  | { readonly kind: 'abandon'; readonly notes: readonly DisruptionNote[] }
  /** Delete the claim. Termination does the rest. */
  | { readonly kind: 'end'; readonly note?: DisruptionNote }
  /**
   * Ask a solver for these pods, and look again at `limitMs` (Infinity: never) even if none has
   * answered.
   */
  | { readonly kind: 'ask'; readonly pods: readonly Pod[]; readonly limitMs: number }
  /** Taint the node, because its pods have another place now, and look again. */
  | { readonly kind: 'taint' }
  | { readonly kind: 'wait'; readonly untilMs: number };

/** The pods of a node that need another place and are promised none. */
export const podsWithoutRoom = (
  pods: readonly Pod[],
  rooms: ReadonlyMap<string, PodRoom>,
): readonly Pod[] => pods.filter((pod) => isReschedulable(pod) && !rooms.has(pod.uid));

/**
 * Whether a retirement keeps new pods away from its beginning on. An expired node has time: it goes
 * on taking pods until theirs have another place.
 */
export const taintsAtOnce = (retirement: Pick<Retirement, 'cause' | 'drainMs'>): boolean =>
  causeOf(retirement).taints === 'at-once';

/** Whether the node goes only if nothing in it or its pods speaks against it. */
export const isVoluntary = (retirement: Pick<Retirement, 'cause' | 'drainMs'>): boolean =>
  causeOf(retirement).blocks !== 'none';

/**
 * Decides the next step of a retirement, by the table of causes. It is let go when its cause does
 * not stand any more, or when something speaks against its end. It ends once each of its pods that
 * needs another place is promised ready room, by what the launcher wrote on claims and nodes: a
 * plan is not enough, for it may be refused. Pods without room are asked for again. Where a grace
 * period ends the wait for pods that are kept on the node, they get no room.
 */
export function retirementStep(facts: RetirementFacts): RetirementStep {
  const { view } = facts;
  const cause = causeOf(facts.retirement);
  const against = objectionsTo(cause, facts);
  if (against.length > 0) return { kind: 'abandon', notes: against };
  return cause.blocks === 'eventual'
    ? unblockedStep(cause, { ...facts, view: { ...view, pods: movingPods(view.pods, facts) } })
    : unblockedStep(cause, facts);
}

/** The next step of a node that nothing speaks against. */
function unblockedStep(cause: Cause, facts: RetirementFacts): RetirementStep {
  const needy = facts.view.pods.filter(isReschedulable);
  if (cause.places === 'ignored' || needy.every(({ uid }) => facts.rooms.get(uid) === 'ready'))
    return endStep(cause, facts);
  if (isUnanswered(cause, facts)) return { kind: 'abandon', notes: [unanswered(facts)] };
  return cause.places === 'required'
    ? requiredStep(cause, facts, needy)
    : awaitedStep(cause, facts, needy);
}

/** The reasons that speak against the end of the node now. */
function objectionsTo(cause: Cause, facts: RetirementFacts): readonly DisruptionNote[] {
  const over = cause.over?.(facts.view);
  if (over !== undefined) return [over];
  const duplicated = duplicatesNote(facts.view);
  if (duplicated !== undefined && cause.begunBy !== 'notice') return [duplicated];
  if (cause.blocks === 'none') return [];
  const isEventual = cause.blocks === 'eventual';
  return disruptionBlocks(facts.view, { ...facts, isEventual, retiring: true });
}

/** The end of a node that went on taking pods begins with its taint. */
function endStep(
  { taints }: Cause,
  { view: { node } }: RetirementFacts,
  why?: DisruptionNote,
): RetirementStep {
  if (taints === 'with-room' && node !== undefined && !isTaintedDisrupted(node))
    return { kind: 'taint' };
  return why === undefined ? { kind: 'end' } : { kind: 'end', note: why };
}

/** Whether no solver has answered, for so long that another node may have its turn. */
const isUnanswered = (
  { ifUnanswered, waits }: Cause,
  { retirement: { atMs, answeredMs }, rooms, nowMs, limits }: RetirementFacts,
): boolean =>
  ifUnanswered === 'cancel' &&
  answeredMs === undefined &&
  rooms.size === 0 &&
  nowMs >= atMs + limits[waits.unanswered];

/** When the wait for places ends if nothing takes the node away. It counts from the answer on. */
function waitLimitMs({ waits, ifUnanswered, places }: Cause, facts: RetirementFacts): number {
  const { atMs, answeredMs } = facts.retirement;
  if (answeredMs !== undefined) return Math.max(atMs, answeredMs) + facts.limits[waits.answered];
  // A node that goes on working until it gives up its turn hurts no one.
  if (places === 'awaited' && ifUnanswered === 'cancel') return Infinity;
  return atMs + facts.limits[waits.unanswered];
}

/**
 * When the wait for places ends on a node that is taken away. Every pod keeps its grace, and there
 * is nothing to wait for when a solver found no place, or when none answers.
 */
function hurriedLimitMs(facts: RetirementFacts, deadlineMs: number): number {
  const { retirement, view, limits } = facts;
  const { atMs, answeredMs } = retirement;
  const isAnswered = answeredMs !== undefined;
  if (isAnswered && isAllThatCanBe(facts)) return atMs;
  const graceMs = 1_000 * Math.max(0, ...view.pods.filter(isReschedulable).map(graceOf));
  const waitMs = isAnswered ? limits.interruptionWaitMs : limits.unansweredWaitMs;
  return Math.min(atMs + waitMs, deadlineMs - graceMs - limits.drainReserveMs);
}

const graceOf = (pod: Pod): number => pod.terminationGracePeriodSeconds;

/** Whether every pod is either promised ready room, or without any place for all that is known. */
function isAllThatCanBe({ retirement, view, rooms }: RetirementFacts): boolean {
  const waiting = view.pods.filter(
    (pod) => isReschedulable(pod) && rooms.get(pod.uid) !== 'ready',
  ).length;
  return waiting <= (retirement.unplaced ?? 0);
}

/** Waits for places, and ends the node without them when a longer wait would cost its pods more. */
function awaitedStep(cause: Cause, facts: RetirementFacts, needy: readonly Pod[]): RetirementStep {
  const { deadlineMs } = facts.retirement;
  const limitMs =
    deadlineMs === undefined ? waitLimitMs(cause, facts) : hurriedLimitMs(facts, deadlineMs);
  return facts.nowMs >= limitMs
    ? endStep(cause, facts, missing(facts, needy))
    : askOrWait(facts, limitMs);
}

/** Asks for the pods without room, unless they were asked for a moment ago. */
function askOrWait(
  { retirement, view, rooms, nowMs, limits }: RetirementFacts,
  limitMs: number,
): RetirementStep {
  const againMs = retirement.deadlineMs === undefined ? limits.askAgainMs : limits.askAgainUrgentMs;
  const askMs = retirement.askedMs === undefined ? nowMs : retirement.askedMs + againMs;
  const pods = podsWithoutRoom(view.pods, rooms);
  if (pods.length > 0 && nowMs >= askMs) return { kind: 'ask', pods, limitMs };
  return { kind: 'wait', untilMs: Math.min(limitMs, pods.length > 0 ? askMs : nowMs + againMs) };
}

/**
 * Whether a plan that is asked for now would be admitted when its node is given up already: that
 * node would be bought in vain. A first answer moves the limit, so that it is never too late.
 */
const isTooLateToAsk = (
  { retirement: { answeredMs }, nowMs, limits }: RetirementFacts,
  limitMs: number,
): boolean => answeredMs !== undefined && nowMs + limits.askAgainMs > limitMs;

/** Waits for places, and keeps the node if a solver finds none, or if there are none in time. */
function requiredStep(cause: Cause, facts: RetirementFacts, needy: readonly Pod[]): RetirementStep {
  const { retirement, view, rooms, nowMs, refused } = facts;
  const limitMs = waitLimitMs(cause, facts);
  const unplaced = retirement.unplaced ?? 0;
  if (refused !== undefined && podsWithoutRoom(view.pods, rooms).length > 0)
    return { kind: 'abandon', notes: [refusedNote(refused)] };
  if (retirement.planId !== undefined && nowMs < limitMs) return replacedStep(facts, limitMs);
  if (unplaced === 0 && nowMs < limitMs)
    return isTooLateToAsk(facts, limitMs)
      ? { kind: 'wait', untilMs: limitMs }
      : askOrWait(facts, limitMs);
  const seconds = Math.floor((nowMs - retirement.atMs) / 1000);
  const message =
    unplaced > 0
      ? `${String(unplaced)} of its pods have no other place any more`
      : `its pods have no other place after ${String(seconds)} s`;
  const values = { waitedSeconds: seconds, unplaced, pods: needy.length };
  return { kind: 'abandon', notes: [note('pods-without-place', message, values)] };
}

/**
 * Decides the next step for a node that a command replaces: it waits for the node that was bought.
 * The launcher admits the plan whole, so a pod that has no room in time means that it was refused,
 * or that the bought node is gone.
 */
function replacedStep(
  { retirement, view, rooms, nowMs, limits }: RetirementFacts,
  limitMs: number,
): RetirementStep {
  const missing = podsWithoutRoom(view.pods, rooms).length;
  if (missing === 0) return { kind: 'wait', untilMs: limitMs };
  const admittedMs = retirement.atMs + limits.askAgainMs;
  if (nowMs < admittedMs) return { kind: 'wait', untilMs: Math.min(limitMs, admittedMs) };
  const message = `${String(missing)} of its pods have no room in its replacement`;
  return { kind: 'abandon', notes: [note('replacement-missing', message, { missing })] };
}

const refusedNote = (why: string): DisruptionNote =>
  note('replacement-refused', `the launcher refused its replacement: ${why}`);

function unanswered({ retirement, nowMs }: RetirementFacts): DisruptionNote {
  const waitedSeconds = Math.floor((nowMs - retirement.atMs) / 1000);
  const message = `no solver has planned its replacement for ${String(waitedSeconds)} s; another node may be replaced`;
  return note('replacement-unanswered', message, { waitedSeconds });
}

function missing(
  { retirement, rooms, nowMs }: RetirementFacts,
  needy: readonly Pod[],
): DisruptionNote {
  const waitedSeconds = Math.floor((nowMs - retirement.atMs) / 1000);
  const ready = needy.filter(({ uid }) => rooms.get(uid) === 'ready').length;
  return note(
    'replacement-missing',
    `no replacement after ${String(waitedSeconds)} s; draining anyway`,
    { waitedSeconds, ready, expected: needy.length },
  );
}

/**
 * By when the node must be gone, once its end has begun. A repair ends its drain by the claim's own
 * limit at the latest.
 */
export function endDeadlineMs(
  { terminationGracePeriodMs = Infinity }: NodeClaim,
  { deadlineMs, drainMs }: Retirement,
  nowMs: number,
): number | undefined {
  if (deadlineMs !== undefined || drainMs === undefined) return deadlineMs;
  return nowMs + Math.min(drainMs, terminationGracePeriodMs);
}
