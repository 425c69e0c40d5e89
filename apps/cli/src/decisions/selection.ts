import type { Decision } from '@dovetail/contracts';

import type { DecisionsRequest } from './request.js';

/**
 * More identifiers than the stream holds decisions in a busy week would cost memory for ever; the
 * oldest are forgotten.
 */
const rememberedMax = 200_000;

/**
 * Which decisions are shown: each fact once (it may be told twice), of the pool, age and object
 * that were asked for. Kinds are chosen by the bus. An object that is asked about brings its claims
 * along: of a pod, the launch and the end of the node it was given.
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

  /** Whether to show it. Call it once per decision, in the order of the stream. */
  takes(decision: Decision): boolean {
    if (this.#seen.has(decision.id)) return false;
    this.#remember(decision.id);
    // Asked before the age: a claim that an old decision names leads to young ones.
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
