import type { Reason } from '@dovetail/core-scheduling';

/** From this refusal by one rule on a pod is held. The first may follow from a watch that lags. */
const refusalsMax = 2;

/** Pods that are remembered: more than any cluster has pending. */
const podsMax = 100_000;

/** The rule that a pod broke last, and how often in a row bins were refused for it. */
type Refusals = { readonly rule: string; readonly times: number };

/**
 * The pods for which the checker refused bins. A bin is refused whole, so a pod that breaks one
 * rule each time would keep its neighbours from ever running.
 */
export class RefusedPods {
  readonly #refusals = new Map<string, Refusals>();

  /** Takes the reasons of a refused bin. Returns the pods to plan alone from now on. */
  refused(reasons: readonly Reason[]): readonly string[] {
    const rules = new Map<string, string>();
    for (const { code, values } of reasons)
      if (code === 'constraint-broken' && values['podUid'] !== undefined)
        rules.set(values['podUid'], values['code'] ?? '');
    return [...rules]
      .filter(([podUid, rule]) => this.#note(podUid, rule) >= refusalsMax)
      .map(([podUid]) => podUid);
  }

  /** The pods have room now. */
  admitted(podUids: readonly string[]): void {
    for (const uid of podUids) this.#refusals.delete(uid);
  }

  #note(podUid: string, rule: string): number {
    const last = this.#refusals.get(podUid);
    const times = last?.rule === rule ? last.times + 1 : 1;
    this.#refusals.delete(podUid);
    this.#refusals.set(podUid, { rule, times });
    if (this.#refusals.size > podsMax)
      this.#refusals.delete(this.#refusals.keys().next().value ?? '');
    return times;
  }
}
