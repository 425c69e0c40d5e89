import type { StateEvent } from '@dovetail/contracts';

/** Plans that are remembered: far more than a reaper has commands under way. */
const plansMax = 1_000;

/**
 * The plans that the launcher has refused of late, and why. It publishes the outcome of each pod. A
 * command whose plan is refused gives its nodes back at once.
 */
export class RefusedPlans {
  /** The message of the first reason, by the plan's id, in the order of arrival. */
  readonly #reasons = new Map<string, string>();

  /** Takes in an event of the state feed. */
  apply(event: StateEvent): void {
    if (event.kind !== 'record' || event.record.kind !== 'set') return;
    const { state } = event.record;
    if (state.kind !== 'verdict' || state.value.outcome !== 'refused') return;
    const { planId, reasons } = state.value;
    if (this.#reasons.has(planId)) return;
    this.#reasons.set(planId, reasons[0]?.message ?? 'no reason was given');
    for (const oldest of this.#reasons.keys()) {
      if (this.#reasons.size <= plansMax) break;
      this.#reasons.delete(oldest);
    }
  }

  /** Why the plan was refused; undefined: it was not, as far as is known here. */
  reasonOf(planId: string | undefined): string | undefined {
    return planId === undefined ? undefined : this.#reasons.get(planId);
  }
}
