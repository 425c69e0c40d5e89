import { poolKey } from '@dovetail/core-api';
import { decidePass, disruptionMethods, type PassDecision } from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { writeEmptySince, writePodEvent } from '../effects/claim-edits.js';
import { aboutClaim, aboutNode } from '../effects/events.js';
import { Nap } from '../loop/nap.js';
import type { Retirer } from '../retire/retirer.js';

/** Claims written to side by side. */
const lanesMax = 16;

/** The decision loop: passes over all nodes, soon after something changed, when the next node is due, and now and then anyway. */
export class Passes {
  readonly #reaping: Reaping;
  readonly #retirer: Retirer;
  readonly #nap: Nap;
  readonly #writtenMs = new Map<string, number>();
  #last: PassDecision | undefined;

  constructor(reaping: Reaping, retirer: Retirer) {
    this.#reaping = reaping;
    this.#retirer = retirer;
    this.#nap = new Nap(reaping.deps.clock);
  }

  wake(): void { this.#nap.wake(); }
  last(): PassDecision | undefined { return this.#last; }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#reaping;
    while (!stop.aborted) {
      let pauseMs = config.disruption.passIntervalMs;
      try {
        if (this.#reaping.world.synced()) pauseMs = await this.#pass(stop);
      } catch (error) {
        deps.metrics.count('dovetail_loop_failures_total', { loop: 'disruption' });
        deps.log.warn('pass-failed', `a pass over the nodes failed: ${String(error)}; trying again`);
        await deps.clock.sleep(config.disruption.passPauseMs, stop);
      }
      await deps.clock.sleep(config.disruption.passPauseMs, stop);
      await this.#nap.rest(pauseMs, stop);
    }
  }

  /** One pass; answers how long the next may wait. */
  async #pass(stop: StopSignal): Promise<number> {
    const { deps, config, world } = this.#reaping;
    await this.#writePodEvents(stop);
    const startedMs = deps.clock.nowMs();
    const decision = decidePass(world.views(), { budgetsOf: world.budgetsOf, podOf: (uid) => world.pods.get(uid), nowMs: startedMs });
    this.#last = decision;
    this.#measure(decision);
    this.#tellBlocked(decision);
    const decidedMs = deps.clock.nowMs();
    deps.metrics.observe('karpenter_voluntary_disruption_decision_evaluation_duration_seconds', (decidedMs - startedMs) / 1000);
    await this.#each(decision.unmark, stop, (claim) => writeEmptySince(deps.kube, claim, undefined));
    await this.#each(decision.mark, stop, (claim) => writeEmptySince(deps.kube, claim, startedMs));
    await this.#each(decision.retire, stop, ({ view, cause, note }) => this.#retirer.begin(view, { cause, atMs: deps.clock.nowMs() }, note));
    // A large cluster that never rests is looked at a fifth of the time, no more.
    const leastMs = 4 * (decidedMs - startedMs);
    return Math.max(leastMs, Math.min(config.disruption.passIntervalMs, (decision.nextDueMs ?? Infinity) - deps.clock.nowMs()));
  }

  /** Does something for each, several side by side; one that fails is tried again by the next pass and keeps nobody else waiting. */
  async #each<T>(items: readonly T[], stop: StopSignal, work: (item: T) => Promise<unknown>): Promise<void> {
    const { log, metrics } = this.#reaping.deps;
    const left = [...items];
    const lane = async (): Promise<void> => {
      for (let item = left.shift(); item !== undefined && !stop.aborted; item = left.shift()) {
        await work(item).catch((error: unknown) => {
          this.#nap.wake();
          metrics.count('dovetail_loop_failures_total', { loop: 'disruption' });
          log.warn('pass-incomplete', `a node could not be dealt with: ${String(error)}; the next pass tries again`);
        });
      }
    };
    await Promise.all(Array.from({ length: lanesMax }, lane));
  }

  async #writePodEvents(stop: StopSignal): Promise<void> {
    const { deps, config, world } = this.#reaping;
    const nowMs = deps.clock.nowMs();
    const due = world.podEventsToWrite().filter(({ claim }) => nowMs - (this.#writtenMs.get(claim.uid) ?? -Infinity) >= config.disruption.podEventPauseMs);
    await this.#each(due, stop, ({ claim, atMs }) => {
      this.#writtenMs.set(claim.uid, nowMs);
      return writePodEvent(deps.kube, claim, atMs);
    });
    if (this.#writtenMs.size > 2 * world.claims.size + 100) this.#writtenMs.clear();
  }

  #measure(decision: PassDecision): void {
    const { metrics } = this.#reaping.deps;
    for (const [pool, allowed] of decision.allowed) metrics.set('karpenter_nodepools_allowed_disruptions', allowed, { nodepool: pool.slice(pool.indexOf('/') + 1), reason: 'Empty' });
    for (const method of disruptionMethods) metrics.set('karpenter_voluntary_disruption_eligible_nodes', decision.eligible[method], { reason: method });
  }

  #tellBlocked(decision: PassDecision): void {
    const { events } = this.#reaping;
    for (const { view, notes } of decision.blocked) {
      const [first] = notes;
      if (first === undefined) continue;
      for (const about of [aboutClaim(view.claim), ...(view.node === undefined ? [] : [aboutNode(view.node)])]) events.write({ about, type: 'Normal', reason: 'DisruptionBlocked', message: first.message });
    }
    for (const { pool, note } of decision.exhausted) {
      const about = { apiVersion: pool.identity.kind === 'NodePool' ? 'karpenter.sh/v1' : 'karpenter.sh/v1alpha5', kind: pool.identity.kind, name: pool.identity.name, uid: pool.uid };
      events.write({ about, type: 'Normal', reason: 'DisruptionBlocked', message: `${note.message} (${poolKey(pool.identity)})` });
    }
  }
}
