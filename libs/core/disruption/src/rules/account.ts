import {
  type DisruptionReason,
  type Pool,
  poolKey,
  terminationFinalizer,
} from '@dovetail/core-api';
import type { Node } from '@dovetail/core-kube-model';

import type { DisruptionNote } from '../facts/refusal.js';
import { isEnding, isInitialized, isRebooting, isToldToEnd, type NodeView } from '../facts/view.js';
import { allowedDisruptions, type BudgetAnswer, type PoolCensus } from './budgets.js';

/** The state of a node that its pool's budgets count. `unready`: NotReady, and not going. */
type Counted = 'well' | 'unready' | 'going';

/** A pool whose budget held back nodes that were due, and the budget that says so. */
export type ExhaustedPool = { readonly pool: Pool; readonly note: DisruptionNote };

/** Whether the Node object stays after its instance and our finalizer are gone. */
const isKeptByOthers = ({ finalizers }: Node): boolean =>
  finalizers.some((name) => name !== terminationFinalizer);

/**
 * Whether budgets count the node: it took part, and its instance is not ending yet. A node that is
 * rebooted took part, although its claim does not say so meanwhile.
 */
const counts = (view: NodeView): boolean =>
  view.node !== undefined &&
  (isInitialized(view) || isRebooting(view)) &&
  (!isToldToEnd(view.claim) || isKeptByOthers(view.node));

/** A pool's nodes by their state. Invariant: no count is negative. */
class PoolNodes {
  readonly pool: Pool;
  readonly #states = new Map<string, Counted>();
  readonly #sums: Record<Counted, number> = { well: 0, unready: 0, going: 0 };

  constructor(pool: Pool) {
    this.pool = pool;
  }

  add(view: NodeView): void {
    if (!counts(view)) return;
    const isUnready = view.node?.ready !== true;
    const isGoing = isEnding(view) || isRebooting(view);
    this.#set(view.claim.uid, isGoing ? 'going' : isUnready ? 'unready' : 'well');
  }

  /** The node is going from now on. One that budgets do not count takes nothing from them. */
  take({ uid }: NodeView['claim']): void {
    if (this.#states.has(uid)) this.#set(uid, 'going');
  }

  #set(uid: string, state: Counted): void {
    const before = this.#states.get(uid);
    if (before !== undefined) this.#sums[before] -= 1;
    this.#sums[state] += 1;
    this.#states.set(uid, state);
  }

  isCounted({ uid }: NodeView['claim']): boolean {
    return this.#states.has(uid);
  }

  /** Nodes that are to be repaired do not use up the budget for their repair. */
  census(reason: DisruptionReason): PoolCensus {
    const { well, unready, going } = this.#sums;
    const disrupted = going + (reason === 'Unhealthy' ? 0 : unready);
    return { nodes: well + unready + going, disrupted };
  }
}

/**
 * The one account of how many nodes of each pool may go. It counts a pool's initialised nodes whose
 * instance is not ending, and those whose Node is kept by finalizers of others. Nodes that are
 * going or NotReady use the budgets up (Karpenter's BuildDisruptionBudgetMapping, by 1.15 without
 * the NotReady ones for the reason Unhealthy). Each decision that a node goes takes it from the
 * account, so that no two decisions spend the same.
 */
export class BudgetAccount {
  readonly #pools = new Map<string, PoolNodes>();
  readonly #nowMs: number;
  readonly #exhausted = new Map<string, ExhaustedPool>();

  constructor(views: readonly NodeView[], nowMs: number) {
    this.#nowMs = nowMs;
    for (const view of views) {
      if (view.pool === undefined) continue;
      const key = poolKey(view.pool.identity);
      const nodes = this.#pools.get(key) ?? new PoolNodes(view.pool);
      this.#pools.set(key, nodes);
      nodes.add(view);
    }
  }

  /** How many more nodes of the node's pool may go for a reason. Without a pool: none. */
  answer({ pool }: NodeView, reason: DisruptionReason): BudgetAnswer {
    const nodes = pool === undefined ? undefined : this.#pools.get(poolKey(pool.identity));
    return nodes === undefined ? { allowed: 0 } : this.#answerOf(nodes, reason);
  }

  #answerOf(nodes: PoolNodes, reason: DisruptionReason): BudgetAnswer {
    const { budgets } = nodes.pool.disruption;
    return allowedDisruptions(budgets, reason, nodes.census(reason), this.#nowMs);
  }

  /**
   * Takes a node for a reason, and answers whether its pool's budgets let it go. Without a reason
   * it goes whatever they say, and counts for the others. A node that never became usable takes
   * nothing from a budget for its repair (Karpenter 1.15).
   */
  take(view: NodeView, reason?: DisruptionReason): boolean {
    const { pool, claim } = view;
    if (pool === undefined) return reason === undefined;
    const nodes = this.#pools.get(poolKey(pool.identity));
    if (nodes === undefined) return reason === undefined;
    const isAsking = reason !== undefined && (reason !== 'Unhealthy' || nodes.isCounted(claim));
    if (isAsking && !this.#allows(nodes, reason)) return false;
    nodes.take(claim);
    return true;
  }

  #allows(nodes: PoolNodes, reason: DisruptionReason): boolean {
    const { allowed, note } = this.#answerOf(nodes, reason);
    const { pool } = nodes;
    if (allowed <= 0 && note !== undefined)
      this.#exhausted.set(`${poolKey(pool.identity)} ${reason}`, { pool, note });
    return allowed > 0;
  }

  /** How many more nodes of each pool (`NodePool/default`) may go for a reason. */
  allowed(reason: DisruptionReason): ReadonlyMap<string, number> {
    return new Map(
      [...this.#pools].map(([key, nodes]) => [key, this.#answerOf(nodes, reason).allowed]),
    );
  }

  /** How many nodes of each pool (`NodePool/default`) use up its budgets for a reason. */
  consuming(reason: DisruptionReason): ReadonlyMap<string, number> {
    return new Map([...this.#pools].map(([key, nodes]) => [key, nodes.census(reason).disrupted]));
  }

  /** The pools whose budgets have refused a node so far. */
  exhausted(): readonly ExhaustedPool[] {
    return [...this.#exhausted.values()];
  }
}
