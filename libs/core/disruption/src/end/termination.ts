import type { NodeClaim } from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import type { Node, Pod, VolumeAttachment } from '@dovetail/core-kube-model';

import { conditionTrueSinceMs, isToldToEnd, terminationDeadlineMs } from '../facts/view.js';
import { type DrainPlan, planDrain } from './drain.js';

/**
 * The state of an instance in EC2. `missing`: not in the answer, which proves nothing while it is
 * seconds old.
 */
export type InstanceState = 'live' | 'ending' | 'terminated' | 'missing' | 'never-launched';

/** Everything that ending a node reads, read live. */
export type TerminationFacts = {
  readonly claim: NodeClaim;
  readonly node?: Node;
  readonly pods: readonly Pod[];
  /** Attachments that must go first; see `attachmentsToAwait`. */
  readonly attachments: readonly VolumeAttachment[];
  readonly instance: InstanceState;
  readonly nowMs: number;
  /** When this process first saw a pod terminating, by the same clock. Absent: clocks agree. */
  readonly podEndingSeenMs?: (pod: Pod) => number | undefined;
  /**
   * When this process first saw the claim being deleted, by its own clock, which may differ from
   * the API server's.
   */
  readonly endingSinceMs: number;
  /**
   * Draining takes at least this long, so that a pod that is just being bound is seen (Karpenter
   * waits 5 s).
   */
  readonly drainMinMs: number;
  /** The longest time that EC2 may hide an instance after its launch. */
  readonly hiddenMsMax: number;
};

/**
 * The next step of ending a node. Each is decided from the facts alone, so a crash loses nothing.
 */
export type TerminationStep =
  | { readonly kind: 'taint' }
  | { readonly kind: 'drain'; readonly drain: DrainPlan }
  | { readonly kind: 'wait-volumes'; readonly names: readonly string[] }
  | { readonly kind: 'terminate' }
  | { readonly kind: 'await-gone' }
  | { readonly kind: 'release' };

/**
 * The deadline to write on a claim, or undefined when it need not change. A deadline only moves
 * earlier. A claim that is being deleted asks for its terminationGracePeriod, counted from its
 * deletion time. That is of the API server's clock and the deadline is kept by ours, which may be
 * ahead: so it counts from `seenMs` if the deletion was first seen later.
 */
export function deadlineToWrite(
  claim: NodeClaim,
  { askedMs, seenMs }: { readonly askedMs?: number | undefined; readonly seenMs: number },
): number | undefined {
  const own =
    claim.deletionMs !== undefined && claim.terminationGracePeriodMs !== undefined
      ? Math.max(claim.deletionMs, seenMs) + claim.terminationGracePeriodMs
      : undefined;
  const wanted = [askedMs, own].filter((ms) => ms !== undefined);
  if (wanted.length === 0) return undefined;
  const earliest = Math.min(...wanted);
  const carried = terminationDeadlineMs(claim);
  return carried !== undefined && carried <= earliest ? undefined : earliest;
}

/** Whether EC2 does not show the instance, and its node says nothing either. */
const isUnseen = ({ instance, node }: TerminationFacts): boolean =>
  instance === 'missing' && node?.ready !== true;

/**
 * Whether EC2 may not show the instance only because it is new. EC2's answers are eventually
 * consistent: it does not know the instance when it is told to end it, either.
 */
const mayBeHidden = ({ claim, nowMs, hiddenMsMax }: TerminationFacts): boolean =>
  nowMs - (conditionTrueSinceMs(claim, 'Launched') ?? claim.createdMs) < hiddenMsMax;

/**
 * Whether the instance is gone: EC2 says so, or nobody sees it after EC2 was told to end it. To end
 * an instance that is gone does nothing. One that is only hidden must not stay: its Node would join
 * after its claim is gone.
 */
const isGone = (facts: TerminationFacts): boolean =>
  facts.instance === 'terminated' ||
  facts.instance === 'never-launched' ||
  (isUnseen(facts) && isToldToEnd(facts.claim) && !mayBeHidden(facts));

/**
 * Decides the next step of ending a node, for every cause: taint, drain, wait for volumes,
 * terminate, wait until the instance is gone, release.
 */
export function terminationStep(facts: TerminationFacts): TerminationStep {
  const { claim, node, nowMs } = facts;
  if (isGone(facts)) return { kind: 'release' };
  if (facts.instance === 'ending') return { kind: 'await-gone' };
  if (node === undefined || isUnseen(facts)) return { kind: 'terminate' };
  if (!isTaintedDisrupted(node)) return { kind: 'taint' };
  const deadlineMs = terminationDeadlineMs(claim);
  const { podEndingSeenMs: endingSeenMs } = facts;
  const drain = planDrain(facts.pods, {
    nowMs,
    ...(endingSeenMs === undefined ? {} : { endingSeenMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  });
  const settled =
    nowMs >= facts.endingSinceMs + facts.drainMinMs ||
    (deadlineMs !== undefined && nowMs >= deadlineMs);
  if (!drain.done || !settled) return { kind: 'drain', drain };
  const expired = deadlineMs !== undefined && nowMs >= deadlineMs;
  if (facts.attachments.length > 0 && !expired)
    return { kind: 'wait-volumes', names: facts.attachments.map(({ name }) => name) };
  return { kind: 'terminate' };
}
