import { publishUnavailable, type Channel, type UnavailableOffering } from '@dovetail/contracts';
import { poolKey, type NodeClaim } from '@dovetail/core-api';
import { classifyFleetError, type FleetOutcome, type InstanceType, type OfferingIdentity } from '@dovetail/core-ec2-model';
import type { Clock, Log, Metrics } from '@dovetail/core-ports';
import { amiOfType } from '@dovetail/core-ec2-model';
import type { Catalog } from '../discovery/catalog.js';
import { inParallel } from '../loop/in-parallel.js';
import type { Decisions } from '../tell/decisions.js';
import { claimSubject, podSubject, type KubeEvents } from '../tell/kube-events.js';
import { livePromise } from '../world/promises.js';
import { typesOfClaim } from '../world/catalog-view.js';
import { classKey, type World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import type { LaunchIntent } from './intent.js';
import { launchedStatus, offeringOf, pairingChange } from './launched.js';
import { pair, type LaunchedInstance } from './pairing.js';
import type { IntentOutcome } from './sending.js';
import type { UnavailableOfferings } from './unavailable.js';

export type OutcomesDeps = {
  readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly world: World; readonly writer: Writer; readonly catalog: Catalog;
  readonly unavailable: UnavailableOfferings; readonly decisions: Decisions; readonly events: KubeEvents; readonly channel: Channel; readonly generation: () => string;
};
type Done = Exclude<IntentOutcome, { readonly kind: 'again' }>;

const writesInParallel = 32;

/** Writes down what came of intents: pairs, offerings to avoid, claims that end for want of capacity. */
export class Outcomes {
  readonly #deps: OutcomesDeps;

  constructor(deps: OutcomesDeps) { this.#deps = deps; }

  /** Answers the claims that are left without an instance and may be tried anew. */
  async write(intent: LaunchIntent, carriers: readonly NodeClaim[], outcome: Done): Promise<readonly NodeClaim[]> {
    if (outcome.kind === 'failed') return carriers.filter((claim) => claim.deletionMs === undefined);
    const { pairs, left, over } = pair(carriers, outcome.instances);
    await inParallel(pairs, writesInParallel, ({ claim, instance }) => this.#pair(claim, instance, intent, outcome.fleetId));
    if (over.length > 0) this.#deps.log.warn('instances-over', 'instances were launched that no claim is left for; collection ends them', { intent: intent.id, instances: over.map((instance) => instance.id) });
    this.#avoid(intent, outcome.errors);
    const wanting = left.filter((claim) => claim.deletionMs === undefined);
    if (outcome.shortage.kind !== 'capacity') return wanting;
    await this.end(wanting, outcome.shortage);
    return [];
  }

  /** Ends claims for want of capacity: their pods go back to the planner, which knows by then what to avoid. */
  async end(claims: readonly NodeClaim[], why: { readonly awsCode: string; readonly message: string }): Promise<void> {
    const { writer, events, metrics, decisions } = this.#deps;
    await inParallel(claims, writesInParallel, async (claim) => {
      const message = `insufficient capacity (${why.awsCode}): ${why.message}`;
      events.tell({ about: claimSubject(claim), type: 'Warning', reason: 'InsufficientCapacityError', message: `NodeClaim ${claim.name} event: ${message}` });
      for (const pod of livePromise(this.#deps.world, claim.uid, this.#deps.clock.nowMs())?.waiting ?? []) {
        events.tell({ about: podSubject(pod), type: 'Warning', reason: 'FailedScheduling', message: `Failed to launch capacity for the pod, ${message}` });
      }
      metrics.count('karpenter_nodeclaims_disrupted_total', { reason: 'insufficient_capacity', nodepool: claim.pool.name, capacity_type: '' });
      decisions.tell({
        id: `launch-failed/${claim.uid}`, kind: 'launch-failed', pool: claim.pool, claimName: claim.name, summary: `no capacity for ${claim.name}: ${message}`,
        reasons: [{ code: 'no-capacity', message, values: { awsCode: why.awsCode }, subject: poolKey(claim.pool) }], objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }],
      });
      await writer.deleteClaim(claim);
    });
  }

  async #pair(claim: NodeClaim, instance: LaunchedInstance, intent: LaunchIntent, fleetId: string | undefined): Promise<void> {
    const { writer, catalog, clock } = this.#deps;
    const discovered = catalog.discovered(classKey(claim.classRef));
    const type = typesOfClaim(catalog, this.#deps.world, claim).get(instance.instanceType);
    const imageId = instance.imageId ?? (type === undefined || discovered === undefined ? undefined : amiOfType(discovered.nodeClass.status.amis, type)?.id);
    const whole = imageId === undefined ? instance : { ...instance, imageId };
    const paired = await writer.changeClaim(claim, (now) => pairingChange(now, whole, type));
    if (paired === undefined) return;
    await writer.changeClaimStatus(paired, (now) => launchedStatus(now, whole, type, clock.nowMs()));
    this.#deps.unavailable.succeed(instance);
    this.#tellLaunch(claim, whole, { intent, type, fleetId });
  }

  #tellLaunch(claim: NodeClaim, instance: LaunchedInstance, by: { readonly intent: LaunchIntent; readonly type: InstanceType | undefined; readonly fleetId: string | undefined }): void {
    const offering = offeringOf(instance, by.type);
    const config = by.intent.request.configs.find(({ overrides }) => overrides.some((override) => override.instanceType === instance.instanceType && override.zone === instance.zone));
    const discovered = this.#deps.catalog.discovered(classKey(claim.classRef));
    const groups = discovered?.nodeClass.status.securityGroups.map(({ id }) => id) ?? [];
    const image = instance.imageId ?? '';
    const types = new Set(by.intent.request.configs.flatMap(({ overrides }) => overrides.map((each) => each.instanceType))).size;
    this.#deps.decisions.tell({
      id: `launch/${claim.uid}/${instance.id}`, kind: 'launch', pool: claim.pool, claimName: claim.name, instanceId: instance.id, instanceType: instance.instanceType,
      zone: instance.zone, capacityType: instance.capacityType, summary: `launched ${instance.instanceType} ${instance.capacityType} in ${instance.zone} for ${claim.name}`,
      ...(offering === undefined ? {} : { priceMicrosPerHour: offering.priceMicrosPerHour, priceEstimated: offering.priceEstimated }),
      reasons: [{ code: 'fleet-choice', message: `EC2 Fleet chose it among ${types} types (${by.intent.request.allocation})`, values: { types: String(types), allocation: by.intent.request.allocation } }],
      objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }],
      facts: {
        intent: by.intent.id, attempt: String(by.intent.attempt), types: String(types),
        launchTemplate: config?.launchTemplateName ?? '', image, imageParameter: discovered?.imageParameters.get(image) ?? '', securityGroups: groups.join(','), fleet: by.fleetId ?? '',
      },
    });
    this.#deps.metrics.count('dovetail_instances_launched_total', { instance_type: instance.instanceType, zone: instance.zone, capacity_type: instance.capacityType });
  }

  #avoid(intent: LaunchIntent, errors: FleetOutcome['errors']): void {
    const marked = new Map<string, UnavailableOffering>();
    const nowMs = this.#deps.clock.nowMs();
    for (const error of errors) {
      for (const offering of offeringsOf(intent, error)) {
        const mark = this.#deps.unavailable.fail(offering, error.awsCode, nowMs);
        marked.set(`${mark.capacityType}/${mark.instanceType}/${mark.zone}`, mark);
        this.#deps.metrics.count('karpenter_cloudprovider_instance_launch_failures_total', { zone: offering.zone, zone_id: '', capacity_type: offering.capacityType, reason: error.awsCode });
      }
    }
    for (const mark of marked.values()) {
      publishUnavailable(this.#deps.channel, mark, { generation: this.#deps.generation() }).catch((problem: unknown) =>
        this.#deps.log.warn('unavailable-not-told', 'an offering without capacity could not be published', { offering: `${mark.capacityType} ${mark.instanceType} ${mark.zone}`, error: String(problem) }));
    }
  }
}

/** The offerings that an error is about: the one it names; all of the request, where it names none or speaks of the whole capacity type. */
function offeringsOf(intent: LaunchIntent, error: FleetOutcome['errors'][number]): readonly OfferingIdentity[] {
  const { code, scope } = classifyFleetError(error.awsCode, error.message);
  if (code !== 'capacity-exhausted' && code !== 'quota-exceeded' && scope !== 'capacity-type') return [];
  const { capacityType } = intent.request;
  const all = intent.request.configs.flatMap(({ overrides }) => overrides.map(({ instanceType, zone }) => ({ instanceType, zone, capacityType })));
  if (scope === 'capacity-type') return all;
  return all.filter((each) => (error.instanceType === undefined || each.instanceType === error.instanceType) && (error.zone === undefined || each.zone === error.zone));
}
