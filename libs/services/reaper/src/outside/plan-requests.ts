import {
  type PlannerOutcome,
  type PlanReply,
  type Replacement,
  requestPlan,
} from '@dovetail/contracts';
import { assert } from '@dovetail/core-invariant';
import { compareText, type Node, type Pod } from '@dovetail/core-kube-model';
import { BusError, type StopSignal } from '@dovetail/core-ports';
import { countText, inParallel } from '@dovetail/service-kit';

import type { ReaperCluster } from '../cluster/reaper-cluster.js';
import type { ReaperConfig } from '../config.js';
import { channelOf, type ReaperDeps } from '../deps.js';

/**
 * The outcome of asking. `planned`: a solver has answered, and has no place for `unplaced` pods;
 * the launcher may still refuse its plan.
 * `not-taken`: no solver has seen the request, or none is ready. `refused`: a solver, or the bus,
 * refuses this very request. `unknown`: a solver may have planned all the same.
 */
export type Asked =
  | {
      readonly kind: 'planned';
      readonly unplaced: number;
      readonly planId: string;
      /** Whether some of the pods go to nodes that the plan buys. */
      readonly buys: boolean;
    }
  | { readonly kind: 'not-taken' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'unknown' };

/**
 * A node to replace, its pods, and why they must move. `isUrgent`: by a deadline. New nodes cost
 * less than `priceBelowMicrosPerHour` each; with 0, none is bought.
 */
type Moving = {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly reason: string;
  readonly isUrgent: boolean;
  readonly priceBelowMicrosPerHour?: number;
};

/** A node whose asker waits for the answer. */
type Waiting = Moving & {
  readonly resolve: (asked: Asked) => void;
  readonly reject: (error: unknown) => void;
};

/** An answer of a solver or of the bus; `alone`: each node is to be asked for by itself. */
type Answer =
  | { readonly kind: 'plan'; readonly reply: PlanReply }
  | { readonly kind: 'alone' }
  | Exclude<Asked, { readonly kind: 'planned' }>;

/**
 * The most pods of one request. Their UIDs are 200 kB, far below the largest message, and a plan
 * for them is as large as those of pending pods.
 */
const podsMax = 5_000;

/**
 * How long nodes are asked for one by one after a launcher admitted nothing of a joint plan. It
 * trades the plans of nodes that go together for requests in vain.
 */
const alonePauseMs = 60_000;

/** The ports of the asking, and the way to see whether pods have room. */
type RequestDeps = Pick<ReaperDeps, 'bus' | 'clock' | 'hash' | 'log' | 'metrics'> & {
  readonly hasRoom: (pods: readonly Pod[]) => boolean;
};
type RequestConfig = Pick<ReaperConfig, 'clusterName' | 'disruption'>;

/**
 * Asks solvers to plan the pods of nodes that go without these nodes, and to hand the plan to the
 * launcher. Nodes that go for one reason within a moment share one request. Planned one by one,
 * each would ignore the others: their pods would be promised the same room, or a node each.
 */
export class PlanRequests {
  readonly #deps: RequestDeps;
  readonly #config: RequestConfig;
  readonly #stop: StopSignal;
  /** Nodes that wait to be asked for, by reason, haste and price. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** The nodes of the last joint plan, by reason, haste and price. */
  readonly #planned = new Map<string, readonly Moving[]>();
  #aloneUntilMs = -Infinity;

  constructor(deps: RequestDeps, config: RequestConfig, stop: StopSignal) {
    this.#deps = deps;
    this.#config = config;
    this.#stop = stop;
  }

  /** Asks for a place for the pods of this node. Answers for this node alone. */
  ask(moving: Moving): Promise<Asked> {
    const { reason, isUrgent, priceBelowMicrosPerHour: below = '' } = moving;
    const key = `${reason} ${String(isUrgent)} ${String(below)}`;
    const waiting = this.#waiting.get(key);
    return new Promise((resolve, reject) => {
      const added = { ...moving, resolve, reject };
      if (waiting !== undefined) return void waiting.push(added);
      this.#waiting.set(key, [added]);
      void this.#serve(key);
    });
  }

  /** Sends what waits under this key, one request at a time, until nothing waits any more. */
  async #serve(key: string): Promise<void> {
    for (;;) {
      await this.#gather(key);
      const waiting = this.#waiting.get(key) ?? [];
      const together = firstOf(waiting);
      await this.#send(key, together);
      if (waiting.length > 0) continue;
      this.#waiting.delete(key);
      return;
    }
  }

  /** Waits until no further node comes for a moment. */
  async #gather(key: string): Promise<void> {
    const { clock } = this.#deps;
    const { quietMs, maxMs } = this.#config.disruption.askGather;
    const untilMs = clock.nowMs() + maxMs;
    for (let seen = -1; seen !== this.#size(key);) {
      const leftMs = untilMs - clock.nowMs();
      if (leftMs <= 0 || this.#stop.aborted) return;
      seen = this.#size(key);
      await clock.sleep(Math.min(quietMs, leftMs), this.#stop);
    }
  }

  #size(key: string): number {
    return this.#waiting.get(key)?.length ?? 0;
  }

  async #send(key: string, together: readonly Waiting[]): Promise<void> {
    try {
      const answer = this.#isToAskAlone(key, together) ? alone : await this.#request(together);
      if (answer.kind === 'plan') this.#planned.set(key, together);
      if (answer.kind !== 'alone') return tell(together, answer);
      const { askConcurrency } = this.#config.disruption;
      await inParallel(together, askConcurrency, async (one) => {
        const own = await this.#request([one]);
        assert(own.kind !== 'alone', 'a node that is asked for alone has its own answer');
        tell([one], own);
      });
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }

  /** Whether joint requests are of no use now, as far as the last ones have shown. */
  #isToAskAlone(key: string, together: readonly Waiting[]): boolean {
    if (together.length < 2) return false;
    const { clock, hasRoom } = this.#deps;
    const last = this.#planned.get(key) ?? [];
    const again = new Set(together.map(({ node }) => node.uid));
    const isInVain =
      last.some(({ node }) => again.has(node.uid)) && !last.some(({ pods }) => hasRoom(pods));
    if (isInVain) this.#aloneUntilMs = clock.nowMs() + alonePauseMs;
    return clock.nowMs() < this.#aloneUntilMs;
  }

  async #request(together: readonly Moving[]): Promise<Answer> {
    if (this.#stop.aborted) return { kind: 'unknown' };
    const { disruption } = this.#config;
    const request = requestFor(together, this.#budgetMs(together));
    try {
      const channel = channelOf(this.#deps, this.#config);
      const options = { timeoutMs: disruption.planTimeoutMs };
      return this.#takeOutcome(together, await requestPlan(channel, 'plan', request, options));
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      return this.#takeFailure(together, error);
    }
  }

  /** Many nodes at once stand in no line: their plan has the time of one without haste. */
  #budgetMs(together: readonly Moving[]): number {
    const { planBudgetMs, urgentPlanBudgetMs } = this.#config.disruption;
    const isHasty = together.length === 1 && together.some(({ isUrgent }) => isUrgent);
    return isHasty ? urgentPlanBudgetMs : planBudgetMs;
  }

  #takeOutcome(together: readonly Moving[], outcome: PlannerOutcome): Answer {
    const { metrics, log } = this.#deps;
    metrics.count('dovetail_whatif_total', { outcome: outcome.ok ? 'planned' : outcome.code });
    const about = { node: together[0]?.node.name ?? '', nodes: together.length };
    if (!outcome.ok) {
      const { code, message } = outcome;
      log.warn(
        'whatif-refused',
        `no plan for the pods of ${namesOf(together)}: ${code}: ${message}`,
        { ...about, code },
      );
      if (code === 'not-ready') return { kind: 'not-taken' };
      return together.length > 1 ? alone : { kind: 'refused', code, message };
    }
    const { reply } = outcome;
    const { newNodes, placements, unplaced } = reply.plan;
    const pods = together.reduce((sum, one) => sum + one.pods.length, 0);
    log.info(
      'whatif-planned',
      `planned ${countText(pods, 'pod')} of ${namesOf(together)}: ${countText(newNodes.length, 'new node')}, ${String(placements.length)} existing, ${countText(unplaced.length, 'pod')} unplaced`,
      { ...about, plan: reply.planId },
    );
    return { kind: 'plan', reply };
  }

  #takeFailure(together: readonly Moving[], { code, message }: BusError): Answer {
    const { metrics, log } = this.#deps;
    const about = { node: together[0]?.node.name ?? '', nodes: together.length, code };
    const names = namesOf(together);
    metrics.count('dovetail_whatif_total', { outcome: code });
    if (code === 'too-large') {
      log.warn('whatif-refused', `the pods of ${names} cannot be asked for: ${message}`, about);
      return together.length > 1 ? alone : { kind: 'refused', code, message };
    }
    log.warn(
      'whatif-failed',
      `no solver answered for the pods of ${names}: ${code}; trying again`,
      about,
    );
    const isNotTaken = code === 'no-responders' || code === 'unavailable';
    return { kind: isNotTaken ? 'not-taken' : 'unknown' };
  }
}

/** The requests of one epoch. */
export const planRequestsOf = (
  deps: ReaperDeps,
  { config, cluster }: { readonly config: ReaperConfig; readonly cluster: ReaperCluster },
  stop: StopSignal,
): PlanRequests => {
  const hasRoom = (pods: readonly Pod[]): boolean => cluster.roomsFor(pods).rooms.size > 0;
  return new PlanRequests({ ...deps, hasRoom }, config, stop);
};

const alone = { kind: 'alone' } as const;

/** Takes the first nodes that fit into one request, one at least, out of those that wait. */
function firstOf(waiting: Waiting[]): readonly Waiting[] {
  let pods = 0;
  const end = waiting.findIndex((one, index) => {
    pods += one.pods.length;
    return index > 0 && pods > podsMax;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

/** Equal nodes and pods give an equal request, whatever their order. */
function requestFor(together: readonly Moving[], budgetMs: number) {
  const [first, ...others] = together
    .map(({ node, reason }) => ({ nodeName: node.name, nodeUid: node.uid, reason }))
    .sort((a, b) => compareText(a.nodeUid, b.nodeUid));
  const below = together[0]?.priceBelowMicrosPerHour;
  const commit: Replacement | undefined =
    first === undefined || others.length === 0
      ? first
      : { ...first, others: others.map(({ nodeName, nodeUid }) => ({ nodeName, nodeUid })) };
  return {
    podUids: together.flatMap(({ pods }) => pods.map(({ uid }) => uid)).sort(compareText),
    withoutNodes: together.map(({ node }) => node.name).sort(compareText),
    ...(commit === undefined ? {} : { commit }),
    ...(below === undefined ? {} : { maxPriceMicrosPerHour: below }),
    budgetMs,
  };
}

/** `ip-10-0-0-1`, or `ip-10-0-0-1 and 199 others`. */
function namesOf(together: readonly Moving[]): string {
  const first = together[0]?.node.name ?? '';
  return together.length < 2 ? first : `${first} and ${countText(together.length - 1, 'other')}`;
}

function tell(together: readonly Waiting[], answer: Exclude<Answer, { kind: 'alone' }>): void {
  for (const { pods, resolve } of together)
    resolve(answer.kind === 'plan' ? plannedFor(pods, answer.reply) : answer);
}

function plannedFor(
  pods: readonly Pod[],
  { planId, plan: { newNodes, placements } }: PlanReply,
): Extract<Asked, { kind: 'planned' }> {
  const onNew = new Set(newNodes.flatMap(({ podUids }) => podUids));
  const placed = new Set(placements.flatMap(({ podUids }) => podUids));
  const unplaced = pods.filter(({ uid }) => !onNew.has(uid) && !placed.has(uid)).length;
  return { kind: 'planned', unplaced, planId, buys: pods.some(({ uid }) => onNew.has(uid)) };
}
