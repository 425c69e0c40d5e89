import { isTaintedDisrupted } from '@dovetail/core-cluster';
import { isReschedulable, type Pod } from '@dovetail/core-kube-model';

import { replaceableDrift } from './drift.js';
import { disruptionBlocks, type EligibilityOptions } from './eligibility.js';
import { podsThatCount } from './emptiness.js';
import { type DisruptionNote, note } from './refusal.js';
import type { Retirement } from './retirement-record.js';
import type { NodeView } from './view.js';

/** How long a retirement waits. The values trade the pods' wait against nodes bought too many. */
export type RetirementLimits = {
  /**
   * A node without a deadline (expired, drifted, or announced for maintenance) waits this long for
   * its replacement, once a solver has answered.
   */
  readonly expiryWaitMs: number;
  /** A node that will be taken away waits at most this long for its replacement. */
  readonly interruptionWaitMs: number;
  /**
   * The same while no solver has answered: time for a second asking, after a crash or a lost
   * answer.
   */
  readonly unansweredWaitMs: number;
  /**
   * An expired or drifted node that no solver has answered for gives its place to the next after
   * this time.
   * There may be an answer for others.
   */
  readonly unansweredExpiryMs: number;
  /**
   * An under-used node is kept if its pods have no other place after this time.
   */
  readonly consolidationWaitMs: number;
  /**
   * The time that a drain takes beside the pods' grace, kept free before a deadline: evictions, and
   * the least duration of a drain.
   */
  readonly drainReserveMs: number;
  /**
   * After this time a plan has become claims or never will (plans live 60 s), so a solver is asked
   * again.
   */
  readonly askAgainMs: number;
  /**
   * The same for a node with a deadline, where a late replacement costs more than one too many. A
   * newer plan replaces one that was not admitted.
   */
  readonly askAgainUrgentMs: number;
};

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
  /** Why the launcher refused the plan of its replacement. Absent: it did not, or not yet. */
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

/** Looks at an empty node again after the taint. Pods and promises that came in between win. */
function emptyStep(facts: RetirementFacts): RetirementStep {
  const pods = podsThatCount(facts.view.pods);
  const first = pods[0];
  const notes =
    first === undefined
      ? disruptionBlocks(facts.view, { ...facts, retiring: true })
      : [
          note('not-empty', `${String(pods.length)} pods came before the taint`, {
            pods: pods.length,
            first: `${first.namespace}/${first.name}`,
          }),
        ];
  return notes.length === 0 ? { kind: 'end' } : { kind: 'abandon', notes };
}

/**
 * When the wait for a replacement ends. Without a deadline, nobody is hurt by a node that goes on
 * working. With one, every pod keeps its grace, and there is nothing to wait for when a solver
 * found no place, or when none answers.
 */
function waitLimitMs(facts: RetirementFacts): number {
  const { retirement, view, limits } = facts;
  const { cause, atMs, deadlineMs, answeredMs } = retirement;
  const isAnswered = answeredMs !== undefined;
  if (deadlineMs === undefined) {
    const sinceMs = Math.max(atMs, answeredMs ?? atMs);
    return isAnswered || cause === 'interrupted' ? sinceMs + limits.expiryWaitMs : Infinity;
  }
  if (isAnswered && isAllThatCanBe(facts)) return atMs;
  const graceMs = 1_000 * Math.max(0, ...view.pods.filter(isReschedulable).map(graceOf));
  const waitMs = isAnswered ? limits.interruptionWaitMs : limits.unansweredWaitMs;
  return Math.min(atMs + waitMs, deadlineMs - graceMs - limits.drainReserveMs);
}

const graceOf = (pod: Pod): number => pod.terminationGracePeriodSeconds;

/**
 * Whether a retirement keeps new pods away from its beginning on. An expired node has time: it goes
 * on taking pods until theirs have another place.
 */
export const taintsAtOnce = ({ cause }: Pick<Retirement, 'cause'>): boolean => cause !== 'expired';

/** The end of an expired node begins with its taint. */
function endStep({ retirement, view }: RetirementFacts, why?: DisruptionNote): RetirementStep {
  const isTainted = view.node === undefined || isTaintedDisrupted(view.node);
  if (!isTainted && !taintsAtOnce(retirement)) return { kind: 'taint' };
  return why === undefined ? { kind: 'end' } : { kind: 'end', note: why };
}

/** Whether every pod is either promised ready room, or without any place for all that is known. */
function isAllThatCanBe({ retirement, view, rooms }: RetirementFacts): boolean {
  const waiting = view.pods.filter(
    (pod) => isReschedulable(pod) && rooms.get(pod.uid) !== 'ready',
  ).length;
  return waiting <= (retirement.unplaced ?? 0);
}

/**
 * Decides the next step of a retirement. An empty node is looked at again and ends, or is let go.
 * An unhealthy, under-used or drifted one is let go if its pods find no room.
 * Any other node ends once each of its pods that needs another place is promised ready room, by
 * what the launcher wrote on claims and nodes: a plan is not enough, for it may be refused. Pods
 * without room are asked for again. The node also ends when a longer wait would cost its pods their
 * grace.
 */
export function retirementStep(facts: RetirementFacts): RetirementStep {
  const { retirement, view, rooms, nowMs } = facts;
  if (retirement.cause === 'empty') return emptyStep(facts);
  if (retirement.cause === 'unhealthy') return repairStep(facts);
  if (retirement.cause === 'underutilized')
    return voluntaryStep(facts, retirement.atMs + facts.limits.consolidationWaitMs);
  if (retirement.cause === 'drifted') return driftStep(facts);
  const needy = view.pods.filter(isReschedulable);
  if (needy.every(({ uid }) => rooms.get(uid) === 'ready')) return endStep(facts);
  if (isUnanswered(facts)) return { kind: 'abandon', notes: [unanswered(facts)] };
  const limitMs = waitLimitMs(facts);
  if (nowMs >= limitMs) return endStep(facts, missing(facts, needy));
  return askOrWait(facts, limitMs);
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
 * Decides the next step for a drifted node. It is kept when its pool and class ask for it again,
 * and when no solver has planned its replacement for long.
 */
function driftStep(facts: RetirementFacts): RetirementStep {
  const { view } = facts;
  if (replaceableDrift(view) === undefined) {
    const message = `${view.claim.name} is again what its pool and class ask for`;
    return { kind: 'abandon', notes: [note('drift-ended', message, { claim: view.claim.name })] };
  }
  if (isUnanswered(facts)) return { kind: 'abandon', notes: [unanswered(facts)] };
  return voluntaryStep({ ...facts, isEventual: true }, eventualLimitMs(facts));
}

/** When the wait of a node that need not go for the place of its pods ends. */
function eventualLimitMs({ retirement, limits }: RetirementFacts): number {
  const { atMs, answeredMs } = retirement;
  const waitMs = answeredMs === undefined ? limits.unansweredExpiryMs : limits.expiryWaitMs;
  return Math.max(atMs, answeredMs ?? atMs) + waitMs;
}

/**
 * Decides the next step for an unhealthy node. It ends once all of its pods have another place.
 * Blocks of their eviction do not count, because its drain has a limit. Without such a limit it
 * ends at once, by force.
 */
function repairStep(facts: RetirementFacts): RetirementStep {
  if (facts.retirement.drainMs === undefined) return { kind: 'end' };
  if (isUnanswered(facts)) return { kind: 'abandon', notes: [unanswered(facts)] };
  return placeStep(facts, eventualLimitMs(facts));
}

/**
 * Decides the next step for an under-used or drifted node, which is tainted by now. It ends once
 * all of its pods are promised ready room. It is kept when anything speaks against its end, when a
 * solver has no place for a pod, or when the wait gets too long.
 */
function voluntaryStep(facts: RetirementFacts, limitMs: number): RetirementStep {
  const blocks = disruptionBlocks(facts.view, { ...facts, retiring: true });
  return blocks.length > 0 ? { kind: 'abandon', notes: blocks } : placeStep(facts, limitMs);
}

/** Ends the node once its pods have another place, and keeps it if they find none in time. */
function placeStep(facts: RetirementFacts, limitMs: number): RetirementStep {
  const { retirement, view, rooms, nowMs } = facts;
  const needy = view.pods.filter(isReschedulable);
  if (needy.every(({ uid }) => rooms.get(uid) === 'ready')) return { kind: 'end' };
  const unplaced = retirement.unplaced ?? 0;
  if (retirement.planId !== undefined && nowMs < limitMs) return replacedStep(facts, limitMs);
  if (unplaced === 0 && nowMs < limitMs) return askOrWait(facts, limitMs);
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
  { retirement, view, rooms, nowMs, limits, refused }: RetirementFacts,
  limitMs: number,
): RetirementStep {
  if (refused !== undefined) {
    const message = `the launcher refused its replacement: ${refused}`;
    return { kind: 'abandon', notes: [note('replacement-refused', message)] };
  }
  const missing = podsWithoutRoom(view.pods, rooms).length;
  if (missing === 0) return { kind: 'wait', untilMs: limitMs };
  const admittedMs = retirement.atMs + limits.askAgainMs;
  if (nowMs < admittedMs) return { kind: 'wait', untilMs: Math.min(limitMs, admittedMs) };
  const message = `${String(missing)} of its pods have no room in its replacement`;
  return { kind: 'abandon', notes: [note('replacement-missing', message, { missing })] };
}

/** Whether no solver has answered for a node without haste, for so long that another may try. */
const isUnanswered = ({ retirement, rooms, nowMs, limits }: RetirementFacts): boolean =>
  ['expired', 'drifted', 'unhealthy'].includes(retirement.cause) &&
  retirement.answeredMs === undefined &&
  rooms.size === 0 &&
  nowMs >= retirement.atMs + limits.unansweredExpiryMs;

function unanswered({ retirement, nowMs }: RetirementFacts): DisruptionNote {
  const waitedSeconds = Math.floor((nowMs - retirement.atMs) / 1000);
  const message = `no solver has planned its replacement for ${String(waitedSeconds)} s; others have their turn`;
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
    `no replacement after ${String(waitedSeconds)} s; draining all the same`,
    { waitedSeconds, ready, expected: needy.length },
  );
}
