import { annotations, type NodeClaim } from '@dovetail/core-api';
import {
  movingPods,
  parseRetirement,
  podsWithoutRoom,
  type TerminationFacts,
} from '@dovetail/core-disruption';
import type { Node, Pod } from '@dovetail/core-kube-model';
import type { Again } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { shownCauseOf } from './causes.js';

/** The asking for one claim. */
type Asking = {
  readonly sinceMs: number;
  /** When a solver may be asked, if it is still to be. */
  readonly dueMs: number;
  /** `open`: no solver has taken it yet, so it is repeated. `answered`: the launcher has a plan. */
  readonly state: 'first' | 'open' | 'answered' | 'refused';
  /** The pods for which the answer had no place. */
  readonly unplaced: number;
};

/**
 * Asks solvers for a place for the pods of a node that ends without waiting for it: someone deleted
 * it, its claim, or its pool, or it has no time. Its pods are evicted once they have room, or after
 * a few seconds; those without time at once. Pods that are evicted before they are asked for
 * would be planned a second time, as pending ones.
 */
export class Successors {
  readonly #context: ReaperContext;
  /** By UID of the claim. A restart asks once more, and the launcher refuses what has room. */
  readonly #askings = new Map<string, Asking>();

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /** Whether a solver is to be asked, and whether evictions wait for what comes of it. */
  look({ claim, node, pods, nowMs }: TerminationFacts): {
    readonly ask: boolean;
    readonly wait: boolean;
  } {
    if (node === undefined || hasAsked(node) || this.#without(node, pods).length === 0)
      return { ask: false, wait: false };
    const asking = this.#askings.get(claim.uid) ?? begun(nowMs);
    this.#note(claim, asking);
    const isNew = asking.state === 'first' || asking.state === 'answered';
    const isInTime = nowMs < asking.sinceMs + this.#context.config.termination.drainMinMs;
    return {
      ask: isToAsk(asking) && nowMs >= asking.dueMs,
      wait:
        isNew && isInTime && !isRetired(node) && this.#without(node, pods).length > asking.unplaced,
    };
  }

  /** Asks for the claim of this name, if that is still to be done. */
  async ask(name: string): Promise<Again> {
    const { cluster, config, deps } = this.#context;
    const claim = cluster.claims.one('name', name);
    const node = claim === undefined ? undefined : cluster.nodeOfClaim(claim);
    const asking = claim === undefined ? undefined : this.#askings.get(claim.uid);
    if (claim === undefined || node === undefined || asking === undefined) return undefined;
    if (!isToAsk(asking) || deps.clock.nowMs() < asking.dueMs) return undefined;
    const pods = this.#without(node, cluster.pods.by('node', node.name));
    if (pods.length === 0) return undefined;
    const moving = { node, pods, reason: shownCauseOf(node), isUrgent: isRetired(node) };
    const asked = await this.#context.requests.ask(moving);
    switch (asked.kind) {
      case 'planned':
        this.#note(claim, { ...asking, state: 'answered', unplaced: asked.unplaced });
        return undefined;
      case 'not-taken': {
        const dueMs = deps.clock.nowMs() + config.disruption.askRetryMs;
        this.#note(claim, { ...asking, state: 'open', dueMs });
        return { afterMs: config.disruption.askRetryMs };
      }
      case 'refused':
      case 'unknown':
        this.#note(claim, { ...asking, state: 'refused' });
        return undefined;
    }
  }

  /** The pods that need room. Those that stay on a node of a person's deletion need none yet. */
  #without(node: Node, pods: readonly Pod[]): readonly Pod[] {
    const { cluster, deps } = this.#context;
    const facts = { budgetsOf: cluster.budgetsOf, nowMs: deps.clock.nowMs() };
    const moving = isRetired(node) ? pods : movingPods(pods, facts);
    return podsWithoutRoom(moving, cluster.roomsFor(moving).rooms);
  }

  #note({ uid }: NodeClaim, asking: Asking): void {
    const { claims } = this.#context.cluster;
    for (const held of this.#askings.keys())
      if (claims.get(held) === undefined) this.#askings.delete(held);
    this.#askings.set(uid, asking);
  }
}

const begun = (nowMs: number): Asking => ({
  sinceMs: nowMs,
  dueMs: nowMs,
  state: 'first',
  unplaced: 0,
});

const isToAsk = ({ state }: Asking): boolean => state === 'first' || state === 'open';

const isRetired = ({ annotations: held }: Node): boolean =>
  held[annotations.retirement] !== undefined;

/** A retirement asks by itself, unless it has no time for it before the node ends. */
function hasAsked({ annotations: held }: Node): boolean {
  const retirement = parseRetirement(held[annotations.retirement]);
  if (retirement === undefined) return held[annotations.retirement] !== undefined;
  return retirement.askedMs !== undefined || retirement.deadlineMs === undefined;
}
