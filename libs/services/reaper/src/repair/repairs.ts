import {
  decideRepairs,
  decideReplacements,
  type RepairDecision,
  type UnhealthyNode,
} from '@dovetail/core-disruption';
import { kubeResources, messageOf, type StopSignal } from '@dovetail/core-ports';
import { aboutClaim, aboutNode, aboutPool, inParallel, Wake } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { kubeBy } from '../deps.js';
import { tellBlocked, tellExhausted } from '../outside/disruption-events.js';
import type { Retirer } from '../retire/retirer.js';

type Repair = RepairDecision['repair'][number];
type Blocked = RepairDecision['blocked'][number];

/**
 * The longest pause between two looks, which also repeats the Event of a repair that is held back
 * (Karpenter asks again after 5 min).
 */
const lookMsMax = 300_000;
/** Repairs begun side by side; Karpenter's controller works on at least 10 nodes. */
const repairsMax = 10;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const turnMsMax = 300_000;

/**
 * Node repair: replaces nodes that are unhealthy for longer than is tolerated, or ends them by
 * force (`legacyNodeRepair`).
 */
export class Repairs {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  readonly #wake: Wake;
  #last: RepairDecision | undefined;

  constructor(context: ReaperContext, retirer: Retirer) {
    this.#context = context;
    this.#retirer = retirer;
    this.#wake = new Wake(context.deps.clock);
  }

  /** The last decision, for /debug/state. */
  last(): RepairDecision | undefined {
    return this.#last;
  }

  /** Looks at all nodes when one has become healthy or unhealthy, and when the next is due. */
  async run(stop: StopSignal): Promise<void> {
    const { deps, config, cluster } = this.#context;
    if (!config.nodeRepair) return;
    const unsubscribe = cluster.unhealthy.subscribe(() => this.#wake.raise());
    try {
      while (!stop.aborted) {
        const restMs = await this.#turn(stop);
        await deps.clock.sleep(config.disruption.passPauseMs, stop);
        await this.#wake.wait(stop, restMs);
      }
    } finally {
      unsubscribe();
    }
  }

  /** One look; answers how long the next may wait, in milliseconds. */
  async #turn(stop: StopSignal): Promise<number> {
    const { deps, config, cluster, clockCheck } = this.#context;
    if (!cluster.areSynced('claim', 'node', 'pod', 'pool') || !clockCheck.isRight())
      return config.disruption.passIntervalMs;
    try {
      return await deps.vitals.turn('repairs', turnMsMax, () => this.#look(stop));
    } catch (error) {
      deps.metrics.count('dovetail_loop_failures_total', { loop: 'repair' });
      const why = `repairing unhealthy nodes failed: ${messageOf(error)}; trying again`;
      deps.log.warn('repair-failed', why);
      return config.disruption.passIntervalMs;
    }
  }

  async #look(stop: StopSignal): Promise<number> {
    const { deps, config } = this.#context;
    const decision = this.#decide();
    this.#last = decision;
    for (const blocked of decision.blocked) this.#recordBlocked(blocked);
    await inParallel(decision.repair, repairsMax, async (repair) => {
      if (!stop.aborted && (await this.#isDueLive(repair))) await this.#begin(repair);
    });
    const dueMs = (decision.nextDueMs ?? Infinity) - deps.clock.nowMs();
    // Budgets, promises and pauses end without a change of any node's health.
    const againMs = config.legacyNodeRepair ? lookMsMax : config.disruption.passIntervalMs;
    return Math.max(0, Math.min(decision.isHeld ? againMs : lookMsMax, dueMs));
  }

  /** The nodes to repair now; `isHeld`: nodes that are due have to wait. */
  #decide(): RepairDecision & { readonly isHeld: boolean } {
    const { deps, config, cluster, events } = this.#context;
    const nowMs = deps.clock.nowMs();
    if (config.legacyNodeRepair) {
      const decision = decideRepairs(cluster.health(), nowMs);
      return { ...decision, isHeld: decision.blocked.length > 0 };
    }
    const decision = decideReplacements(cluster.health(), {
      views: this.#retirer.beginnings.views(),
      podOf: (uid) => cluster.pods.get(uid),
      nowMs,
      pauses: (claim) => this.#retirer.pauses(claim),
    });
    for (const { pool, note } of decision.exhausted) tellExhausted(events, pool, note);
    for (const [pool, count] of decision.allowed)
      deps.metrics.set('karpenter_nodepools_allowed_disruptions', count, {
        nodepool: pool.slice(pool.indexOf('/') + 1),
        reason: 'Unhealthy',
      });
    return { ...decision, isHeld: decision.waiting > 0 };
  }

  /** Whether the API server, too, says that the node is unhealthy: a watch may be behind. */
  async #isDueLive({ node }: UnhealthyNode): Promise<boolean> {
    const { deps, cluster } = this.#context;
    const nowMs = deps.clock.nowMs();
    const kube = kubeBy(deps, nowMs);
    const live = await kube.get({ resource: kubeResources.nodes, name: node.name });
    if (live?.metadata.uid !== node.uid) return false;
    const condition = cluster.unhealthy.read(live);
    return condition !== undefined && condition.dueMs <= nowMs;
  }

  /** By force the deadline is now, so nothing is waited for. Else the replacement comes first. */
  async #begin({ claim, condition, note }: Repair): Promise<void> {
    const { deps, cluster } = this.#context;
    const atMs = deps.clock.nowMs();
    const { type: detail, drainMs } = condition;
    const limit = drainMs === undefined ? { deadlineMs: atMs } : { drainMs };
    const retirement = { cause: 'unhealthy', atMs, detail, ...limit } as const;
    await this.#retirer.begin(cluster.viewOf(claim), retirement, note);
  }

  #recordBlocked({ node, claim, note }: Blocked): void {
    const { events, cluster, deps } = this.#context;
    const view = cluster.viewOf(claim);
    if (note.code !== 'repair-blocked') {
      tellBlocked(events, view, note);
      return;
    }
    const { pool } = view;
    const abouts = [aboutNode(node), aboutClaim(claim), ...(pool ? [aboutPool(pool)] : [])];
    for (const about of abouts)
      events.record({ about, type: 'Warning', reason: 'NodeRepairBlocked', message: note.message });
    deps.log.warn('repair-blocked', `${node.name} is not repaired: ${note.message}`, {
      node: node.name,
      ...note.values,
    });
  }
}
