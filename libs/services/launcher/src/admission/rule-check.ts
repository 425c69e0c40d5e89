import { type PlanMessage, replacedNodes } from '@dovetail/contracts';
import type { Pod } from '@dovetail/core-kube-model';
import {
  drained,
  type ExistingNode,
  type NewNode,
  type Placement,
  type Reason,
  type Violation,
} from '@dovetail/core-scheduling';

import type { CheckBin } from './judged.js';
import type { LaterBins } from './later-bins.js';
import type { Ledger } from './ledger.js';
import { reason } from './reason.js';

/** The checker, and the ledger of the bins that were admitted before. */
export type RuleCheckDeps = {
  readonly check: CheckBin;
  readonly ledger: Ledger;
  /** The pods of these UIDs that exist. */
  readonly podsOf: (uids: readonly string[]) => readonly Pod[];
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
    const { pods: around, ...beside } = later.beside(bin);
    const pods = [...podsOf(bin.podUids), ...around];
    const violations =
      cause.kind === 'replacement'
        ? check({
            bin,
            pods: pods.map(withoutNode),
            nodes: ledger.nodes.map((node) => (replaced.has(node.uid) ? emptied(node) : node)),
            beside,
          })
        : check({ bin, pods, nodes: ledger.nodes, beside });
    return violations.map(brokenConstraint);
  }
}

/** One value for each, because the checker remembers what it has read by value. */
function once<T extends object>(make: (one: T) => T): (one: T) => T {
  const made = new WeakMap<T, T>();
  return (one) => {
    const value = made.get(one) ?? make(one);
    made.set(one, value);
    return value;
  };
}

/** A pod of a replacement, as it will be once its node is gone. */
const withoutNode = once(({ nodeName: _left, ...rest }: Pod): Pod => ({
  ...rest,
  phase: 'Pending',
}));

/** A node of a replacement, as it will be once its pods have left. */
const emptied = once<ExistingNode>(drained);

const brokenConstraint = ({ code, where, message, podUid }: Violation): Reason =>
  podUid === undefined
    ? reason('constraint-broken', message, { code, where })
    : reason(
        'constraint-broken',
        message,
        { code, where, podUid },
        {
          remedy:
            'change the term of the pod that the message is about, and report that plan and check disagree; until it holds, the pod is planned alone',
        },
      );
