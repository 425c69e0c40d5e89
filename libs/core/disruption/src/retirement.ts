import { annotations, type NodeClaim, parsePromise } from '@dovetail/core-api';
import { isReschedulable } from '@dovetail/core-kube-model';

import { disruptionBlocks, type EligibilityOptions } from './eligibility.js';
import { podsThatCount } from './emptiness.js';
import { type DisruptionNote, note } from './refusal.js';
import type { Retirement } from './retirement-record.js';
import { conditionTrueSinceMs, type NodeView } from './view.js';

/** How long a retirement waits. The values trade the pods' wait against nodes bought too many. */
export type RetirementLimits = {
  /**
   * A node without a deadline (expired, or announced for maintenance) waits this long for its
   * replacement, once a solver has answered.
   */
  readonly expiryWaitMs: number;
  /** A node that will be taken away waits this long for its replacement before it is drained. */
  readonly interruptionWaitMs: number;
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

/** Everything that one step of a retirement reads. */
export type RetirementFacts = EligibilityOptions & {
  readonly retirement: Retirement;
  readonly view: NodeView;
  /** The claims whose promise replaces this node. */
  readonly replacements: readonly NodeClaim[];
  readonly limits: RetirementLimits;
};

/** The next step of a retirement. */
export type RetirementStep =
  | { readonly kind: 'abandon'; readonly notes: readonly DisruptionNote[] }
  /** Delete the claim. Termination does the rest. */
  | { readonly kind: 'end'; readonly note?: DisruptionNote }
  | { readonly kind: 'ask' }
  | { readonly kind: 'wait'; readonly untilMs: number };

/** The living claims whose promise replaces the node. */
export const replacementsOf = (
  claims: Iterable<NodeClaim>,
  nodeUid: string,
): readonly NodeClaim[] =>
  [...claims].filter(
    (claim) =>
      claim.deletionMs === undefined &&
      parsePromise(claim.annotations[annotations.promise])?.replaces?.nodeUid === nodeUid,
  );

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

function waitLimitMs({ retirement, limits }: RetirementFacts): number {
  if (retirement.deadlineMs !== undefined)
    return Math.min(retirement.atMs + limits.interruptionWaitMs, retirement.deadlineMs);
  // Until a solver answers it is unknown where the pods would go, and a node without a deadline can
  // wait.
  return retirement.answered === true ? retirement.atMs + limits.expiryWaitMs : Infinity;
}

/**
 * Decides the next step of a retirement. An empty node is looked at again and ends, or is let go.
 * Any other node ends if no pod needs another place, or if the planner found room on existing
 * nodes. It also ends once as many replacements as planned are Initialized, or when a longer wait
 * would cost the pods their grace.
 */
export function retirementStep(facts: RetirementFacts): RetirementStep {
  const { retirement, view, replacements, nowMs, limits } = facts;
  if (retirement.cause === 'empty') return emptyStep(facts);
  if (!view.pods.some((pod) => isReschedulable(pod))) return { kind: 'end' };
  if (retirement.expects === 0) return { kind: 'end' };
  const ready = replacements.filter(
    (claim) => conditionTrueSinceMs(claim, 'Initialized') !== undefined,
  ).length;
  if (ready > 0 && ready >= (retirement.expects ?? replacements.length)) return { kind: 'end' };
  const limitMs = waitLimitMs(facts);
  if (nowMs >= limitMs) {
    const waitedSeconds = Math.floor((nowMs - retirement.atMs) / 1000);
    return {
      kind: 'end',
      note: note(
        'replacement-missing',
        `no replacement after ${String(waitedSeconds)} s; draining all the same`,
        { waitedSeconds, ready, expected: retirement.expects ?? 0 },
      ),
    };
  }
  const againMs = retirement.deadlineMs === undefined ? limits.askAgainMs : limits.askAgainUrgentMs;
  const askMs = retirement.askedMs === undefined ? nowMs : retirement.askedMs + againMs;
  if (replacements.length === 0 && nowMs >= askMs) return { kind: 'ask' };
  return {
    kind: 'wait',
    untilMs: Math.min(limitMs, replacements.length === 0 ? askMs : nowMs + againMs),
  };
}
