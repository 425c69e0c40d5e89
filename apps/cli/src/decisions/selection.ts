import type { Decision } from '@dovetail/contracts';

import type { DecisionsRequest } from './request.js';

/**
 * The most identifiers to remember: more than the decisions of a busy week. The oldest are
 * forgotten, to bound memory.
 */
const rememberedMax = 200_000;
/** The most plans to keep until a decision about them names the object. */
const plansMax = 1_000;

/**
 * Selects decisions by pool, age and object, and shows each fact once although it may come twice.
 * The bus selects the kinds. An object brings its claims and its plans along: for a pod, the plan,
 * the launch and the end of its node.
 */
export class Selection {
  readonly #request: Pick<DecisionsRequest, 'pool' | 'about'>;
  readonly #oldestMs: number;
  readonly #seen = new Set<string>();
  readonly #claims = new Set<string>();
  readonly #planIds = new Set<string>();
  /** Plans that name no object. A plan may come before or after the decisions about it. */
  readonly #plans = new Map<string, Decision>();

  constructor(request: Pick<DecisionsRequest, 'pool' | 'about' | 'sinceMs'>, nowMs: number) {
    this.#request = request;
    this.#oldestMs = request.sinceMs === undefined ? 0 : nowMs - request.sinceMs;
  }

  /**
   * The decisions to show: this one, and before it the plan that it brings along; none if it is not
   * selected. Call it once per decision, in the order of the stream. A `live` one has just been
   * published, so no age limit leaves it out: a plan says when it was made, which may be earlier.
   */
  take(decision: Decision, live = false): readonly Decision[] {
    if (this.#seen.has(decision.id)) return [];
    this.#remember(decision.id);
    // The object comes before the age, because a claim that an old decision names leads to young
    // ones.
    if (!this.#isOfPool(decision)) return [];
    if (!this.#isAbout(decision)) {
      this.#keepPlan(decision);
      return [];
    }
    return [...this.#planOf(decision), decision].filter(
      ({ atMs }) => live || atMs >= this.#oldestMs,
    );
  }

  #keepPlan(decision: Decision): void {
    const { kind, planId } = decision;
    if (kind !== 'plan' || planId === undefined) return;
    this.#plans.set(planId, decision);
    if (this.#plans.size <= plansMax) return;
    const [oldest = ''] = this.#plans.keys();
    this.#plans.delete(oldest);
  }

  #planOf({ planId = '' }: Decision): readonly Decision[] {
    const plan = this.#plans.get(planId);
    this.#plans.delete(planId);
    return plan === undefined ? [] : [plan];
  }

  #remember(id: string): void {
    this.#seen.add(id);
    if (this.#seen.size <= rememberedMax) return;
    const [oldest] = this.#seen;
    if (oldest !== undefined) this.#seen.delete(oldest);
  }

  #isOfPool({ pool }: Decision): boolean {
    const wanted = this.#request.pool;
    return (
      wanted === undefined ||
      (pool !== undefined && (wanted === pool.name || wanted === `${pool.kind}/${pool.name}`))
    );
  }

  #isAbout(decision: Decision): boolean {
    const wanted = this.#request.about;
    if (wanted === undefined) return true;
    const { claimName, instanceId, objects, kind, planId } = decision;
    const named =
      (kind === 'plan' && planId !== undefined && this.#planIds.has(planId)) ||
      claimName === wanted ||
      instanceId === wanted ||
      objects.some(
        (one) =>
          wanted === one.name ||
          wanted === one.uid ||
          wanted === `${one.namespace ?? ''}/${one.name}`,
      );
    if (named && claimName !== undefined && claimName !== '') this.#claims.add(claimName);
    if (named && planId !== undefined) this.#planIds.add(planId);
    return named || (claimName !== undefined && this.#claims.has(claimName));
  }
}
