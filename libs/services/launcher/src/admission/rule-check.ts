import { type PlanMessage, replacedNodes } from '@dovetail/contracts';
import type { Pod } from '@dovetail/core-kube-model';
import {
  drained,
  type NewNode,
  type Placement,
  type Reason,
  type Violation,
} from '@dovetail/core-scheduling';

import type { CheckBin } from './judged.js';
import type { Ledger } from './ledger.js';
import { reason } from './reason.js';

/** Bins of the same plan that are judged later. */
export type LaterBins = {
  readonly newNodes: readonly NewNode[];
  readonly placements: readonly Placement[];
};

/**
 * The checker, the ledger of earlier bins, and the tests of what may have changed since the plan.
 */
export type RuleCheckDeps = {
  readonly check: CheckBin;
  readonly ledger: Ledger;
  /** The pods of these UIDs that exist. */
  readonly podsOf: (uids: readonly string[]) => readonly Pod[];
  /** Whether a bin's pods are free and its groups untouched. */
  readonly stillHolds: (message: PlanMessage, bin: NewNode | Placement) => boolean;
};

/** Asks the independent checker about one bin, with everything admitted before it in place. */
export class RuleCheck {
  readonly #deps: RuleCheckDeps;

  constructor(deps: RuleCheckDeps) {
    this.#deps = deps;
  }

  /** The rules that the bin would break; none when it holds. */
  broken(message: PlanMessage, bin: NewNode | Placement, later: LaterBins): readonly Reason[] {
    const { check, ledger, podsOf } = this.#deps;
    const { cause } = message;
    const replaced = new Set(
      cause.kind === 'replacement' ? replacedNodes(cause).map(({ nodeUid }) => nodeUid) : [],
    );
    const beside = this.#companions(message, bin, later);
    const pods = podsOf(
      [bin, ...beside.placements, ...beside.newNodes].flatMap(({ podUids }) => podUids),
    );
    const violations =
      cause.kind === 'replacement'
        ? check({
            bin,
            pods: pods.map(withoutNode),
            nodes: ledger.nodes.map((node) => (replaced.has(node.uid) ? drained(node) : node)),
            beside,
          })
        : check({ bin, pods, nodes: ledger.nodes, beside });
    return violations.map(brokenConstraint);
  }

  /**
   * The later bins that share a group with this one, as no other can matter. One that no longer
   * holds would be refused itself, so this bin must do without it.
   */
  #companions(message: PlanMessage, bin: NewNode | Placement, later: LaterBins): LaterBins {
    const groups = new Set(bin.topologyGroups);
    const isCompanion = (other: NewNode | Placement): boolean =>
      other.topologyGroups.some((group) => groups.has(group)) &&
      this.#deps.stillHolds(message, other);
    return {
      newNodes: later.newNodes.filter(isCompanion),
      placements: later.placements.filter(isCompanion),
    };
  }
}

/** A pod of a replacement, as it will be once its node is gone. */
function withoutNode(pod: Pod): Pod {
  const { nodeName: _left, ...rest } = pod;
  return { ...rest, phase: 'Pending' };
}

const brokenConstraint = (violation: Violation): Reason =>
  reason('constraint-broken', violation.message, { code: violation.code, where: violation.where });
