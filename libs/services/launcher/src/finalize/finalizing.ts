import { annotations, terminationFinalizer, type NodeClaim } from '@dovetail/core-api';
import type { Log } from '@dovetail/core-ports';
import { instanceIdOf, intentIdOf } from '../launch/intent.js';
import type { LaunchedInstance } from '../launch/pairing.js';
import type { Again } from '../loop/keyed-queue.js';
import type { World } from '../world/world.js';
import type { Writer } from '../world/writer.js';

export type FinalizingDeps = {
  readonly log: Log;
  readonly world: World;
  readonly writer: Writer;
  /** Whether nothing more will come of the claim's intent. */
  readonly isSettled: (claim: NodeClaim) => boolean;
  /** Instances that carry the intent's tag. Rejects with CloudError. */
  readonly lookUp: (intentId: string) => Promise<readonly LaunchedInstance[]>;
};

const waitMs = 1_000;

/**
 * Lets a claim go that was deleted before it had an instance. It stays until its intent is settled and the intent's tag was looked
 * up; an instance that turns up is paired with it, and the reaper ends both. Claims with instances are the reaper's from the start.
 */
export class Finalizing {
  readonly #deps: FinalizingDeps;

  constructor(deps: FinalizingDeps) { this.#deps = deps; }

  async finalize(claim: NodeClaim): Promise<Again> {
    const { writer, isSettled, lookUp, log, world } = this.#deps;
    if (!isSettled(claim)) return { afterMs: waitMs };
    const intentId = intentIdOf(claim);
    const paired = new Set([...world.claims.values()].flatMap((other) => instanceIdOf(other) ?? []));
    const [instance] = intentId === undefined ? [] : (await lookUp(intentId)).filter(({ id }) => !paired.has(id));
    if (instance !== undefined) {
      log.warn('instance-of-deleted-claim', 'a deleted claim has an instance after all, the reaper ends both', { claim: claim.name, instance: instance.id });
      await writer.changeClaim(claim, (now) => (instanceIdOf(now) === undefined ? { metadata: { annotations: { [annotations.instanceId]: instance.id } } } : undefined));
      return undefined;
    }
    await writer.changeClaim(claim, (now) => (instanceIdOf(now) === undefined && now.finalizers.includes(terminationFinalizer)
      ? { metadata: { finalizers: now.finalizers.filter((each) => each !== terminationFinalizer) } } : undefined));
    return undefined;
  }
}
