import { type Clock, type Instance, type Instances, type StopSignal } from '@dovetail/core-ports';
import { Gathered } from '@dovetail/service-kit';

/** Questions for instances are gathered for this long: nothing waits for their answer. */
const gatherMs = 1_000;

/**
 * The instances of claims, as EC2 showed them at most a given time ago. Many that are asked for in
 * one moment share one call.
 */
export class SeenInstances {
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #found: Gathered<ReadonlyMap<string, Instance>>;
  readonly #seen = new Map<string, { readonly atMs: number; readonly instance: Instance }>();

  constructor(clock: Clock, cloud: Pick<Instances, 'instancesById'>, freshMs: number) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#found = new Gathered(
      clock,
      gatherMs,
      async (ids) => new Map((await cloud.instancesById(ids)).map((one) => [one.id, one])),
    );
  }

  /** The instance; undefined when EC2 does not show it. Rejects with CloudError. */
  async of(id: string, stop: StopSignal): Promise<Instance | undefined> {
    const held = this.#seen.get(id);
    const nowMs = this.#clock.nowMs();
    if (held !== undefined && nowMs - held.atMs < this.#freshMs) return held.instance;
    this.#forgetOld(nowMs);
    const instance = (await this.#found.ask(id, stop)).get(id);
    if (instance !== undefined) this.#seen.set(id, { atMs: this.#clock.nowMs(), instance });
    return instance;
  }

  /** An instance that is looked at no more is of a claim that is gone. */
  #forgetOld(nowMs: number): void {
    for (const [id, { atMs }] of this.#seen) {
      // In the order of their reading, so the first that is fresh enough ends the search.
      if (nowMs - atMs < 4 * this.#freshMs) return;
      this.#seen.delete(id);
    }
  }
}
