import { impairmentsOf } from '@dovetail/core-disruption';
import type { ImpairedInstance } from '@dovetail/core-ec2-model';
import { CloudError, messageOf, type StopSignal } from '@dovetail/core-ports';
import { inParallel } from '@dovetail/service-kit';

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
 * about. It needs no queue.
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
    const seen = new Set<string>();
    const failures: unknown[] = [];
    await inParallel(impaired, instancesMax, async (instance) => {
      if (stop.aborted) return;
      try {
        await this.#act(instance, seen);
      } catch (error) {
        failures.push(error);
      }
    });
    this.#seen = seen;
    // The others are done. The next reading tries again what failed.
    if (failures.length > 0) throw failures[0];
  }

  /** Acts on what is new about an instance of a claim; adds to `seen` what stands. */
  async #act(instance: ImpairedInstance, seen: Set<string>): Promise<void> {
    const { deps, cluster } = this.#context;
    const claims = cluster.claims.by('instance', instance.id);
    const claim = claims.find((one) => cluster.nodeOfClaim(one) !== undefined) ?? claims[0];
    if (claim === undefined) return;
    for (const { category, policy, notice } of impairmentsOf(instance, deps.clock.nowMs())) {
      const key = `${instance.id}/${category}`;
      if (!this.#seen.has(key)) {
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
