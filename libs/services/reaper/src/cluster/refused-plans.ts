import type { StateEvent } from '@dovetail/contracts';
import type { Retirement } from '@dovetail/core-disruption';
import type { Node, Pod } from '@dovetail/core-kube-model';

/** Plans that are remembered: far more than a reaper has commands and askings under way. */
const plansMax = 1_000;

/** The message of the first reason, and the pods that have no room by this plan. */
type Refusal = { readonly reason: string; readonly podUids: Set<string> };
/** The plan that a solver made for a node when it was asked at this time. */
type AskedPlan = { readonly askedMs: number; readonly planId: string };
/** A node that is being retired, and its pods. */
type Retired = { readonly node: Pick<Node, 'uid'>; readonly pods: readonly Pick<Pod, 'uid'>[] };

/**
 * The plans that the launcher has refused of late, and why. It publishes the outcome of each pod. A
 * node whose plan is refused is given back at once. The plan of a command is refused whole; one
 * that a solver made for nodes that go together is judged bin by bin.
 */
export class RefusedPlans {
  /** By the plan's id, in the order of arrival. */
  readonly #refusals = new Map<string, Refusal>();
  /** By the node's UID. A restart forgets it, and costs the wait for an answer. */
  readonly #asked = new Map<string, AskedPlan>();
  /** The nodes that a plan was made for, by the plan's id, in the order of the answers. */
  readonly #nodesOf = new Map<string, readonly string[]>();
  readonly #listeners = new Set<(nodeUids: readonly string[]) => void>();

  /**
   * Calls with the nodes whose plan is refused, when that is heard. The answer ends the
   * subscription.
   */
  subscribe(listener: (nodeUids: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes in an event of the state feed. */
  apply(event: StateEvent): void {
    if (event.kind !== 'record' || event.record.kind !== 'set') return;
    const { state } = event.record;
    if (state.kind !== 'verdict' || state.value.outcome !== 'refused') return;
    const { planId, podUid, reasons } = state.value;
    const reason = reasons[0]?.message ?? 'no reason was given';
    const refusal = this.#refusals.get(planId) ?? { reason, podUids: new Set() };
    refusal.podUids.add(podUid);
    this.#refusals.set(planId, refusal);
    for (const oldest of this.#refusals.keys()) {
      if (this.#refusals.size <= plansMax) break;
      this.#refusals.delete(oldest);
    }
    const nodeUids = this.#nodesOf.get(planId) ?? [];
    if (nodeUids.length > 0) for (const listener of this.#listeners) listener(nodeUids);
  }

  /** Notes the plan that a solver made for a node that it was asked for at this time. */
  noteAnswer({ uid }: Pick<Node, 'uid'>, { askedMs, planId }: AskedPlan): void {
    this.#asked.set(uid, { askedMs, planId });
    this.#nodesOf.set(planId, [...(this.#nodesOf.get(planId) ?? []), uid]);
    for (const [oldest, nodeUids] of this.#nodesOf) {
      if (this.#nodesOf.size <= plansMax) break;
      this.#nodesOf.delete(oldest);
      for (const held of nodeUids)
        if (this.#asked.get(held)?.planId === oldest) this.#asked.delete(held);
    }
  }

  /**
   * Why the launcher refused the plan by which the pods of a node were to get room. Undefined: it
   * did not, as far as is known here.
   */
  reasonFor(
    { planId, askedMs }: Pick<Retirement, 'planId' | 'askedMs'>,
    { node, pods }: Retired,
  ): string | undefined {
    if (planId !== undefined) return this.#refusals.get(planId)?.reason;
    const asked = this.#asked.get(node.uid);
    if (asked === undefined || asked.askedMs !== askedMs) return undefined;
    const refusal = this.#refusals.get(asked.planId);
    return pods.some(({ uid }) => refusal?.podUids.has(uid) === true) ? refusal?.reason : undefined;
  }
}
