import type { UnavailableOffering } from '@dovetail/contracts';
import type { NodeClaim } from '@dovetail/core-api';
import { classKey, type Cluster, livePromise, typesOfClaim } from '@dovetail/core-cluster';
import {
  amiOfType,
  classifyFleetError,
  type FleetOutcome,
  type InstanceType,
  offeringKey,
} from '@dovetail/core-ec2-model';
import type { Clock, Log, Metrics } from '@dovetail/core-ports';
import type { Decisions } from '@dovetail/service-kit';
import { countDisrupted, groupBy, inParallel } from '@dovetail/service-kit';
import { aboutClaim, aboutPod, type EventRecorder } from '@dovetail/service-kit';

import { stepOf } from '../cluster/claim-trace.js';
import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { type AnnouncementDeps, announceUnavailable } from '../discovery/announcement.js';
import type { ClassCatalog, DiscoveredClass } from '../discovery/class-catalog.js';
import type { UnavailableOfferings } from '../discovery/unavailable.js';
import { type FailedCall, isCapacityError, offeringsFailed, subnetsRefused } from './errors.js';
import type { IntentOutcome } from './fleet-requests.js';
import type { LaunchIntent } from './intent.js';
import { launchDecision, noCapacityDecision } from './launch-decisions.js';
import { launchedStatus, pairingChange } from './launched.js';
import { type LaunchedInstance, pair } from './pairing.js';
import type { SubnetUse } from './subnet-use.js';

/** The ports and parts that `Outcomes` works with. */
export type OutcomesDeps = AnnouncementDeps & {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly catalog: ClassCatalog;
  readonly unavailable: UnavailableOfferings;
  readonly decisions: Decisions;
  readonly events: EventRecorder;
  readonly subnetUse: SubnetUse;
};
type Done = Exclude<IntentOutcome, { readonly kind: 'again' }>;

/** Trades the API server's share for the time to record a fleet of 50 instances. */
const writesInParallel = 32;

/**
 * Records the outcomes of intents: claims with their instances, offerings to avoid, claims that end
 * for lack of capacity.
 */
export class Outcomes {
  readonly #deps: OutcomesDeps;

  constructor(deps: OutcomesDeps) {
    this.#deps = deps;
  }

  /** Answers the claims that have no instance and may be tried again. */
  async write(
    intent: LaunchIntent,
    carriers: readonly NodeClaim[],
    outcome: Done,
  ): Promise<readonly NodeClaim[]> {
    if (outcome.kind === 'failed')
      return carriers.filter((claim) => claim.deletionMs === undefined);
    const { pairs, left, over } = pair(carriers, outcome.instances);
    await inParallel(pairs, writesInParallel, ({ claim, instance }) =>
      this.#pair(claim, instance, intent, outcome.fleetId),
    );
    if (over.length > 0)
      this.#deps.log.warn(
        'instances-over',
        'more instances were launched than claims are left; collection ends them',
        { intent: intent.id, instances: over.map((instance) => instance.id) },
      );
    this.#avoid(intent, carriers, outcome.errors);
    this.#reportErrors(intent, outcome.errors);
    const wanting = left.filter((claim) => claim.deletionMs === undefined);
    if (outcome.shortage.kind !== 'capacity') return wanting;
    await this.end(wanting, outcome.shortage);
    return [];
  }

  /**
   * Deletes claims for lack of capacity: their pods are planned again, without the failed
   * offerings.
   */
  async end(claims: readonly NodeClaim[], why: FailedCall): Promise<void> {
    await inParallel(claims, writesInParallel, async (claim) => {
      this.#reportEnd(claim, why);
      await this.#deps.writer.deleteClaim(claim);
    });
  }

  #reportEnd(claim: NodeClaim, why: FailedCall): void {
    const { cluster, clock, events, metrics, decisions } = this.#deps;
    const message = `insufficient capacity (${why.awsCode}): ${why.message}`;
    events.record({
      about: aboutClaim(claim),
      type: 'Warning',
      reason: 'InsufficientCapacityError',
      message: `NodeClaim ${claim.name} event: ${message}`,
    });
    for (const pod of livePromise(cluster, claim.uid, clock.nowMs())?.waiting ?? []) {
      events.record({
        about: aboutPod(pod),
        type: 'Warning',
        reason: 'FailedScheduling',
        message: `Failed to launch capacity for the pod, ${message}`,
      });
    }
    countDisrupted(metrics, claim, { reason: 'insufficient_capacity' });
    decisions.tell(noCapacityDecision(claim, why, message), stepOf(claim, 'made'));
  }

  async #pair(
    claim: NodeClaim,
    instance: LaunchedInstance,
    intent: LaunchIntent,
    fleetId: string | undefined,
  ): Promise<void> {
    const { cluster, writer, catalog, clock, unavailable, decisions } = this.#deps;
    const discovered = catalog.discovered(classKey(claim.classRef));
    const types = typesOfClaim(catalog, cluster, claim);
    const type = types.get(instance.instanceType);
    const known = withImage(instance, type, discovered);
    const instanceProfile = discovered?.nodeClass.status.instanceProfile;
    const paired = await writer.changeClaim(claim, (now) =>
      pairingChange(now, known, { type, instanceProfile }),
    );
    if (paired === undefined) return;
    await writer.changeClaimStatus(paired, (now) =>
      launchedStatus(now, known, type, clock.nowMs()),
    );
    unavailable.succeed(instance);
    decisions.tell(
      launchDecision({ claim, instance: known, intent, fleetId, types, discovered }),
      stepOf(claim, 'made'),
    );
    this.#deps.metrics.count('dovetail_instances_launched_total', {
      instance_type: instance.instanceType,
      zone: instance.zone,
      capacity_type: instance.capacityType,
    });
  }

  /** Logs and counts the errors of overrides that are not about capacity, once for each code. */
  #reportErrors(intent: LaunchIntent, errors: FleetOutcome['errors']): void {
    const { log, metrics } = this.#deps;
    const byCode = groupBy(
      errors.filter((error) => !isCapacityError(error)),
      ({ awsCode }) => awsCode,
    );
    for (const [awsCode, [first, ...others]] of byCode) {
      const { code } = classifyFleetError(awsCode, first?.message);
      metrics.count('dovetail_create_fleet_failures_total', { code, aws_code: awsCode });
      log.warn(
        'fleet-error',
        `EC2 refused options of a fleet: ${awsCode}: ${first?.message ?? ''}`,
        {
          intent: intent.id,
          awsCode,
          options: others.length + 1,
          instanceType: first?.instanceType ?? '',
          zone: first?.zone ?? '',
        },
      );
    }
  }

  /**
   * Notes that subnets have no address left. True when their zones have others: then the offerings
   * can still be bought.
   */
  #hasOtherSubnet(
    intent: LaunchIntent,
    claim: NodeClaim | undefined,
    error: FleetOutcome['errors'][number],
  ): boolean {
    const { catalog, subnetUse } = this.#deps;
    const full = subnetsRefused(intent, error);
    if (claim === undefined || full.length === 0) return false;
    const subnets = catalog.discovered(classKey(claim.classRef))?.subnets ?? [];
    for (const { subnetId } of full) subnetUse.fill(subnets, subnetId);
    return full.every(({ zone }) => subnetUse.hasRoom(subnets, zone));
  }

  /** The ids of the zones of a claim's class, by the names that the account has for the zones. */
  #zoneIdsFor(claim: NodeClaim | undefined): ReadonlyMap<string, string> {
    const { catalog } = this.#deps;
    const subnets =
      claim === undefined ? [] : (catalog.discovered(classKey(claim.classRef))?.subnets ?? []);
    return new Map(subnets.map(({ zone, zoneId }) => [zone, zoneId]));
  }

  /** Marks what an intent's errors name as unavailable, here and for the solvers. */
  #avoid(
    intent: LaunchIntent,
    carriers: readonly NodeClaim[],
    errors: FleetOutcome['errors'],
  ): void {
    const marked = new Map<string, UnavailableOffering>();
    const nowMs = this.#deps.clock.nowMs();
    const zoneIds = this.#zoneIdsFor(carriers[0]);
    for (const error of errors) {
      if (this.#hasOtherSubnet(intent, carriers[0], error)) continue;
      for (const offering of offeringsFailed(intent, error)) {
        const mark = this.#deps.unavailable.fail(offering, error.awsCode, nowMs);
        marked.set(offeringKey(mark), mark);
        this.#deps.metrics.count('karpenter_cloudprovider_instance_launch_failures_total', {
          zone: offering.zone,
          zone_id: zoneIds.get(offering.zone) ?? '',
          capacity_type: offering.capacityType,
          reason: error.awsCode,
        });
      }
    }
    for (const mark of marked.values()) announceUnavailable(this.#deps, mark);
  }
}

/** An instance that was found by its tag lacks its image; its class names the one for its type. */
function withImage(
  instance: LaunchedInstance,
  type: InstanceType | undefined,
  discovered: DiscoveredClass | undefined,
): LaunchedInstance {
  if (instance.imageId !== undefined || type === undefined || discovered === undefined)
    return instance;
  const imageId = amiOfType(discovered.nodeClass.status.amis, type)?.id;
  return imageId ? { ...instance, imageId } : instance;
}
