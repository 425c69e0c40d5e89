import type { Decision } from '@dovetail/contracts';

import type { DecisionsRequest } from './request.js';

/**
 * The most identifiers to remember: more than the decisions of a busy week. The oldest are
 * forgotten, to bound memory.
 */
const rememberedMax = 200_000;

/**
 * Selects decisions by pool, age and object, and shows each fact once although it may come twice.
 * The bus selects the kinds. An object brings its claims along: for a pod, the launch and the end
 * of its node.
 */
export class Selection {
  readonly #request: Pick<DecisionsRequest, 'pool' | 'about'>;
  readonly #oldestMs: number;
  readonly #seen = new Set<string>();
  readonly #claims = new Set<string>();

  constructor(request: Pick<DecisionsRequest, 'pool' | 'about' | 'sinceMs'>, nowMs: number) {
    this.#request = request;
    this.#oldestMs = request.sinceMs === undefined ? 0 : nowMs - request.sinceMs;
  }

  /** Whether to show the decision. Call it once per decision, in the order of the stream. */
  takes(decision: Decision): boolean {
    if (this.#seen.has(decision.id)) return false;
    this.#remember(decision.id);
    // The object comes before the age, because a claim that an old decision names leads to young
    // ones.
    return this.#isOfPool(decision) && this.#isAbout(decision) && decision.atMs >= this.#oldestMs;
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
    const { claimName, instanceId, objects } = decision;
    const named =
      claimName === wanted ||
      instanceId === wanted ||
      objects.some(
        (one) =>
          wanted === one.name ||
          wanted === one.uid ||
          wanted === `${one.namespace ?? ''}/${one.name}`,
      );
    if (named && claimName !== undefined && claimName !== '') this.#claims.add(claimName);
    return named || (claimName !== undefined && this.#claims.has(claimName));
  }
}
