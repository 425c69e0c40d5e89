import { annotations, type NodeClaim } from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import type { Node } from '@dovetail/core-kube-model';
import type { Again } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { readClaim } from '../outside/live.js';
import { abandonRetirement } from '../outside/node-edits.js';

/**
 * How long a taint must have stood on a node of ours before it counts as left over. Retirements are
 * recorded with their taint, so this only keeps an operator's own act from being undone at once.
 */
const oursMs = 60_000;
/** The same on a node that Karpenter launched: it takes up to an hour for a replacement. */
const karpentersMs = 3_600_000;

/**
 * Takes the taint of a retirement off nodes without a retirement. Such a node takes no pods, and it
 * is never ended.
 */
export class LeftoverTaints {
  readonly #context: ReaperContext;
  /** When a tainted node was first seen here without a retirement, by its UID. */
  readonly #sinceMs = new Map<string, number>();

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /** Looks at a node that our watches show without a retirement, and with a claim that stays. */
  async look(claim: NodeClaim, node: Node): Promise<Again> {
    if (!isTaintedDisrupted(node)) {
      this.#sinceMs.delete(node.uid);
      return undefined;
    }
    const { deps, cluster } = this.#context;
    const nowMs = deps.clock.nowMs();
    const sinceMs = this.#sinceMs.get(node.uid) ?? nowMs;
    this.#sinceMs.set(node.uid, sinceMs);
    for (const uid of this.#sinceMs.keys())
      if (cluster.nodes.get(uid) === undefined) this.#sinceMs.delete(uid);
    const isOurs = claim.annotations[annotations.admission] !== undefined;
    const leftMs = sinceMs + (isOurs ? oursMs : karpentersMs) - nowMs;
    if (leftMs > 0) return { afterMs: leftMs };
    // The watch of claims may lag: a node whose claim is being deleted is rightly tainted.
    const live = await readClaim(deps.kube, claim.name);
    if (live?.uid !== claim.uid || live.deletionMs !== undefined) return undefined;
    await abandonRetirement(deps.kube, node, undefined);
    deps.log.info('taint-removed', `${node.name} was tainted, and nobody retires it`, {
      node: node.name,
      claim: claim.name,
    });
    return undefined;
  }
}
