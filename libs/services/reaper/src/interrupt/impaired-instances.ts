import type { NodeClaim } from '@dovetail/core-api';
import {
  brakeOf,
  type HealthCensus,
  healthCensus,
  type Impairment,
  impairmentsOf,
  unhealthySharePercent,
} from '@dovetail/core-disruption';
import type { ImpairedInstance } from '@dovetail/core-ec2-model';
import { CloudError, messageOf, type StopSignal } from '@dovetail/core-ports';
import { aboutClaim, inParallel } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import type { Retirer } from '../retire/retirer.js';
import { applyInterruption } from './apply.js';

/** Instances worked on side by side (Karpenter's). */
const instancesMax = 10;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const turnMsMax = 300_000;
/** Pause while IAM denies the call: someone has to change the policy first. */
const deniedPauseMs = 600_000;

/**
 * Reads EC2's status checks and scheduled events once a minute, and retires the nodes that they are
 * about. It needs no queue. Checks that fail on more than a fifth of a pool end none of its nodes:
 * the brake of node repair, and both count what the other sees.
 */
export class ImpairedInstances {
  readonly #context: ReaperContext;
  readonly #retirer: Retirer;
  /** The findings that were acted on, as `<instance>/<category>`. One that goes is forgotten. */
  #seen: ReadonlySet<string> = new Set();

  constructor(context: ReaperContext, retirer: Retirer) {
    this.#context = context;
    this.#retirer = retirer;
  }

  async run(stop: StopSignal): Promise<void> {
    const { clock } = this.#context.deps;
    while (!stop.aborted) await clock.sleep(await this.#turn(stop), stop);
  }

  /** One reading; answers the pause after it, in milliseconds. */
  async #turn(stop: StopSignal): Promise<number> {
    const { deps, config, cluster } = this.#context;
    const { statusIntervalMs, retryMs } = config.interruption;
    if (!cluster.isSynced('claim') || !cluster.isSynced('node')) return retryMs;
    try {
      await deps.vitals.turn('instance-statuses', turnMsMax, () => this.#look(stop));
      return statusIntervalMs;
    } catch (error) {
      deps.metrics.count('dovetail_loop_failures_total', { loop: 'instance-statuses' });
      const isDenied = error instanceof CloudError && error.code === 'denied';
      const why = isDenied
        ? 'the policy does not allow ec2:DescribeInstanceStatus, so failing instances are not noticed'
        : 'the status of instances cannot be read';
      deps.log.warn('instance-statuses-unknown', `${why}: ${messageOf(error)}; trying again`);
      return isDenied ? deniedPauseMs : statusIntervalMs;
    }
  }

  async #look(stop: StopSignal): Promise<void> {
    const { cloud } = this.#context.deps;
    const impaired = await cloud.impairedInstances();
    const census = this.#census(impaired);
    const seen = new Set<string>();
    const failures: unknown[] = [];
    await inParallel(impaired, instancesMax, async (instance) => {
      if (stop.aborted) return;
      try {
        await this.#act(instance, census, seen);
      } catch (error) {
        failures.push(error);
      }
    });
    this.#seen = seen;
    // The others are done. The next reading tries again what failed.
    if (failures.length > 0) throw failures[0];
  }

  #claimOf({ id }: ImpairedInstance): NodeClaim | undefined {
    const { cluster } = this.#context;
    const claims = cluster.claims.by('instance', id);
    return claims.find((one) => cluster.nodeOfClaim(one) !== undefined) ?? claims[0];
  }

  /** Counts the nodes that are unhealthy by their conditions, or by a check that would end them. */
  #census(impaired: readonly ImpairedInstance[]): HealthCensus {
    const { deps, cluster } = this.#context;
    const nowMs = deps.clock.nowMs();
    const forced = new Set(
      impaired
        .filter((instance) => impairmentsOf(instance, nowMs).some(isForced))
        .flatMap((instance) => this.#claimOf(instance)?.uid ?? []),
    );
    cluster.noteFailingChecks(forced);
    return healthCensus(cluster.health());
  }

  /** Whether too much of the claim's pool fails for its node to end; then it is told. */
  #isHeld(claim: NodeClaim, census: HealthCensus): boolean {
    const braked = brakeOf(claim, census);
    if (braked === undefined) return false;
    const { deps, events } = this.#context;
    const where = braked.pool ?? 'the cluster';
    const message = `more than ${String(unhealthySharePercent)}% of nodes in ${where} are unhealthy`;
    events.record({
      about: aboutClaim(claim),
      type: 'Warning',
      reason: 'NodeRepairBlocked',
      message,
    });
    deps.log.warn('impaired-instance-held', `${claim.name} is not ended: ${message}`, {
      claim: claim.name,
      nodes: braked.nodes,
      unhealthy: braked.unhealthy,
      allowed: braked.allowed,
    });
    return true;
  }

  /** Acts on what is new about an instance of a claim; adds to `seen` what stands. */
  async #act(instance: ImpairedInstance, census: HealthCensus, seen: Set<string>): Promise<void> {
    const { deps } = this.#context;
    const claim = this.#claimOf(instance);
    if (claim === undefined) return;
    for (const impairment of impairmentsOf(instance, deps.clock.nowMs())) {
      const { category, policy, notice } = impairment;
      const key = `${instance.id}/${category}`;
      if (!this.#seen.has(key)) {
        if (isForced(impairment) && this.#isHeld(claim, census)) continue;
        deps.metrics.count('karpenter_interruption_instance_status_unhealthy_total', { category });
        deps.log.warn('instance-impaired', `EC2 reports ${notice.kind} of ${instance.id}`, {
          instance: instance.id,
          claim: claim.name,
          category,
        });
        await applyInterruption(this.#context, this.#retirer, { policy, claim, notice });
      }
      seen.add(key);
    }
  }
}

/** Whether the node would end by force: a check fails, and not only an event is scheduled. */
const isForced = ({ policy }: Impairment): boolean => policy.retire?.deadlineMs !== undefined;
