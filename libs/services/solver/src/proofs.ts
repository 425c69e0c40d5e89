import type { LpSolver } from '@dovetail/core-ports';
import { type Bound, type Plan, type Planned, provenBound } from '@dovetail/core-scheduling';

/** Solves the programs of one proof, all of them together within this many milliseconds. */
export type Prover = (msMax: number) => LpSolver;

/** Lets so many milliseconds pass, in which others have the processor. */
export type Pause = (ms: number) => Promise<void>;

/**
 * The most proofs in hand: one that runs and one that waits. Each keeps the snapshot of its plan,
 * with every node and pod, and a proof that waits longer has no time left.
 */
const inHandMax = 2;

/**
 * How long a proof waits after its plan, as a share of its time and in milliseconds at the most.
 * Claims follow a plan within this time, and a proof beside them takes a core from the launcher:
 * with two cores the claims of 1,000 pods came a quarter of a second later.
 */
const [pauseShare, pauseMsMax] = [0.3, 300];

type Proven = { readonly plan: Plan; readonly planned: Planned };
type Provable = Proven & { readonly planId: string };

/**
 * Proves bounds of plans beside planning, one after the other, so that proofs do not slow each
 * other down.
 *
 * Invariant: it keeps the input of the newest plan, and that of plans whose proofs were asked for
 * and have not ended, `inHandMax` at most.
 */
export class Proofs {
  readonly #prover: Prover | undefined;
  readonly #nowMs: () => number;
  readonly #pause: Pause;
  #newest: Provable | undefined;
  #before: Promise<unknown> = Promise.resolve();
  #inHand = 0;

  constructor(
    prover: Prover | undefined,
    nowMs: () => number,
    pause: Pause = () => Promise.resolve(),
  ) {
    this.#prover = prover;
    this.#nowMs = nowMs;
    this.#pause = pause;
  }

  /** Keeps the input of a plan until its proof is asked for or another plan is made. */
  keep(provable: Provable): void {
    if (this.#prover !== undefined) this.#newest = provable;
  }

  /**
   * Returns the best bound that is proven within `msMax`, of the newest plan. The proof begins a
   * little later, because the plan is carried out meanwhile. The result is undefined for another
   * plan, without a prover, or if earlier proofs take all the time. Rejects if the prover fails.
   */
  async prove(planId: string, msMax: number): Promise<Bound | undefined> {
    const newest = this.#newest;
    if (newest?.planId !== planId) return undefined;
    this.#newest = undefined;
    return await this.boundOf(newest, msMax);
  }

  /** The same for a plan that is in hand. The result is undefined under the same conditions. */
  async boundOf({ plan, planned }: Proven, msMax: number): Promise<Bound | undefined> {
    const prover = this.#prover;
    if (prover === undefined || this.#inHand >= inHandMax) return undefined;
    this.#inHand += 1;
    const untilMs = this.#nowMs() + msMax;
    const pause = this.#pause(Math.min(pauseMsMax, pauseShare * msMax));
    const proof = this.#before.then(async () => {
      await pause;
      const leftMs = untilMs - this.#nowMs();
      if (leftMs <= 0) return undefined;
      return await provenBound(plan, planned, { lp: prover(leftMs), msMax: leftMs });
    });
    this.#before = proof.catch(() => undefined).finally(() => (this.#inHand -= 1));
    return await proof;
  }
}
