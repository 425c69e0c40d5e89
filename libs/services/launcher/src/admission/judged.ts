import type { AdmissionNumber, PlanMessage } from '@dovetail/contracts';
import type { Pool, PromiseAnnotation } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import type {
  BinOption,
  ExistingNode,
  NewNode,
  Placement,
  Reason,
  Violation,
} from '@dovetail/core-scheduling';

import type { TracedPlan } from '../cluster/traced-plan.js';
import { reason } from './reason.js';

/**
 * A bin that holds: a node to launch under this name, its options narrowed to what may be launched
 * now.
 */
export type AdmittedNode = {
  readonly kind: 'new-node';
  readonly plan: TracedPlan;
  readonly binId: string;
  readonly podUids: readonly string[];
  readonly claimName: string;
  readonly pool: Pool;
  readonly bin: NewNode;
  readonly options: readonly BinOption[];
  readonly promise: PromiseAnnotation;
};

/** Pods that get room on a node or claim that exists; the promise's pods are those to add. */
export type AdmittedPlacement = {
  readonly kind: 'placement';
  readonly plan: TracedPlan;
  readonly binId: string;
  readonly podUids: readonly string[];
  /** Where the promise goes: the claim until its node is initialised, then the node. */
  readonly holder: {
    readonly kind: 'NodeClaim' | 'Node';
    readonly name: string;
    readonly uid: string;
  };
  readonly placement: Placement;
  readonly promise: PromiseAnnotation;
};

/** A bin that was refused, with the reasons. Its pods are planned again. */
export type RefusedBin = {
  readonly kind: 'refused';
  readonly plan: TracedPlan;
  readonly binId: string;
  readonly podUids: readonly string[];
  readonly pool?: NewNode['pool'];
  readonly reasons: readonly Reason[];
  /** The pods that the refusal is about, if not all: they back off, the others do not. */
  readonly heldPodUids?: readonly string[];
};

/** The outcome for one bin: a new node, places on an existing node, or a refusal. */
export type JudgedBin = AdmittedNode | AdmittedPlacement | RefusedBin;

/**
 * The independent checker, asked about one bin with everything that was admitted before it already
 * in place.
 */
export type CheckBin = (question: {
  readonly bin: NewNode | Placement;
  readonly pods: readonly Pod[];
  /** Everything that exists or is promised now, earlier bins of this round included. */
  readonly nodes: readonly ExistingNode[];
  /**
   * The plan's bins that are judged after this one; `pods` holds theirs too. Nodes that are level
   * together are not level one by one.
   */
  readonly beside: {
    readonly newNodes: readonly NewNode[];
    readonly placements: readonly Placement[];
  };
}) => readonly Violation[];

/** `place-0`, `place-1`, …: placements have no id of their own in the plan. */
export const placementId = (index: number): string => `place-${index}`;

/**
 * The name of a bin's claim: the same admission of the same bin is the same claim, whoever makes
 * it.
 */
export function claimNameOf(
  bin: {
    readonly poolName: string;
    readonly admission: AdmissionNumber;
    readonly planId: string;
    readonly binId: string;
  },
  sha256Hex: (text: string) => string,
): string {
  const digest = sha256Hex(
    `${bin.admission.epoch}.${bin.admission.number}/${bin.planId}/${bin.binId}`,
  );
  const prefix = bin.poolName
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 46)
    .replace(/^-+|-+$/g, '');
  return `${prefix === '' ? 'pool' : prefix}-${digest.slice(0, 12)}`;
}

/** A bin that is refused, with the reasons. */
export const refusedBin = (
  plan: PlanMessage,
  binId: string,
  bin: NewNode | Placement,
  reasons: readonly Reason[],
): RefusedBin => ({
  kind: 'refused',
  plan,
  binId,
  podUids: bin.podUids,
  ...('pool' in bin ? { pool: bin.pool } : {}),
  reasons,
});

/** Whether a plan carries out a command, which is admitted whole or not at all. */
export const isOfCommand = ({ cause }: Pick<PlanMessage, 'cause'>): boolean =>
  cause.kind === 'replacement' && cause.command !== undefined;

/**
 * The bins of a command, as the same list, if all of them hold and no pod is left over. Otherwise
 * all are refused.
 */
export function wholeOrNothing(
  plan: PlanMessage,
  bins: readonly JudgedBin[],
): readonly JudgedBin[] {
  const refused = bins.find((bin) => bin.kind === 'refused');
  const left = plan.plan.unplaced.length;
  if (refused === undefined && left === 0) return bins;
  const why = reason(
    'command-incomplete',
    refused === undefined
      ? `${String(left)} pods of the command have no place`
      : `${refused.binId} of the command is refused, and a part of it is not carried out`,
    { unplaced: left, bin: refused?.binId ?? '' },
  );
  return bins.map((bin) =>
    bin.kind === 'refused'
      ? bin
      : refusedBin(plan, bin.binId, bin.kind === 'new-node' ? bin.bin : bin.placement, [why]),
  );
}
