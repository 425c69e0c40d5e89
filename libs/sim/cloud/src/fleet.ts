import { canonical, byCodeUnits, hexOf } from './digest.js';
import { candidateOf, type Candidate } from './candidates.js';
import type { Capacity } from './capacity.js';
import { AwsFault } from './fault.js';
import { checkFleetInput, type FleetInput, type FleetOverride } from './fleet-request.js';
import type { Iam } from './iam.js';
import type { Images } from './images.js';
import type { Instances, TwinInstance } from './instances.js';
import type { LaunchTemplates } from './launch-templates.js';
import type { Network } from './network.js';
import { spotPriceAt } from './prices.js';
import type { CloudSettings } from './settings.js';
import type { Timeline } from './timeline.js';
import type { TwinType } from './world.js';

export type FleetError = { readonly code: string; readonly message: string; readonly templateId?: string; readonly templateName?: string; readonly templateVersion?: string; readonly override: FleetOverride };
export type FleetGroup = { readonly templateId: string; readonly templateName: string; readonly templateVersion: number; readonly override: FleetOverride; readonly instanceType: string; readonly zone: string; readonly lifecycle: 'on-demand' | 'spot'; readonly instanceIds: readonly string[] };
export type FleetResult = { readonly fleetId: string; readonly groups: readonly FleetGroup[]; readonly errors: readonly FleetError[] };
/** A fleet that was made, as DescribeFleets tells it. */
export type Fleet = { readonly id: string; readonly createdMs: number; readonly input: FleetInput; readonly result: FleetResult };

export type Fleets = {
  /** Launches, or answers what the same token gave before. Throws IdempotentParameterMismatch when the token had other parameters. */
  create(input: FleetInput): FleetResult;
  /** Dry run of RunInstances: throws DryRunOperation when the launch would have been tried, else what is wrong with it. */
  dryRun(template: { readonly id?: string; readonly name?: string; readonly version?: string }, override: FleetOverride): never;
  all(): readonly Fleet[];
};

type Deps = {
  readonly timeline: Timeline; readonly seed: string; readonly settings: CloudSettings; readonly types: ReadonlyMap<string, TwinType>;
  readonly network: Network; readonly images: Images; readonly iam: Iam; readonly capacity: Capacity; readonly templates: LaunchTemplates; readonly instances: Instances;
};
type Lifecycle = 'on-demand' | 'spot';
type Ranked = { readonly candidate: Candidate; readonly priceMicros: number; readonly depth: number };

/** What nobody knows the price of comes last. */
const unknownPrice = Number.MAX_SAFE_INTEGER;

/** From so many free places on, a pool counts as deep: more makes an interruption no less likely here. */
const deepFrom = 20;

function rankOf(deps: Deps, candidate: Candidate, lifecycle: Lifecycle): Ranked {
  const { type, subnet } = candidate;
  const priceMicros = lifecycle === 'spot' ? spotPriceAt(deps.seed, type, subnet.zone, deps.timeline.nowMs())?.priceMicros : type.onDemandPriceMicros;
  const free = deps.capacity.free({ instanceType: type.facts.name, zone: subnet.zone, capacityType: lifecycle });
  return { candidate, priceMicros: priceMicros ?? unknownPrice, depth: Math.min(free, deepFrom) };
}

type Order = (left: Ranked, right: Ranked) => number;
const cheapest: Order = (left, right) => left.priceMicros - right.priceMicros;
const deepest: Order = (left, right) => right.depth - left.depth;
const priority = ({ candidate }: Ranked): number => candidate.override.priority ?? Number.MAX_VALUE;
const mostWanted: Order = (left, right) => priority(left) - priority(right);
const byIdentity: Order = (left, right) => byCodeUnits(left.candidate.type.facts.name, right.candidate.type.facts.name)
  || byCodeUnits(left.candidate.subnet.zone, right.candidate.subnet.zone) || byCodeUnits(left.candidate.subnet.id, right.candidate.subnet.id);

/** Which pools come first. Price ties and what a strategy leaves open are settled by price, then by name. */
const strategies: Readonly<Record<string, readonly Order[]>> = {
  'lowest-price': [cheapest],
  prioritized: [mostWanted],
  'price-capacity-optimized': [deepest, cheapest],
  'capacity-optimized': [deepest],
  'capacity-optimized-prioritized': [deepest, mostWanted],
};

function ordered(ranked: readonly Ranked[], strategy: string): readonly Ranked[] {
  const orders = [...(strategies[strategy] ?? []), cheapest, byIdentity];
  return [...ranked].sort((left, right) => orders.reduce((result, order) => result || order(left, right), 0));
}

function insufficient(candidate: Candidate, lifecycle: Lifecycle): AwsFault {
  const { facts, zones } = candidate.type;
  if (lifecycle === 'spot') return new AwsFault('InsufficientInstanceCapacity', 'There is no Spot capacity available that matches your request.');
  const others = zones.filter((zone) => zone !== candidate.subnet.zone).join(', ');
  return new AwsFault('InsufficientInstanceCapacity', `We currently do not have sufficient ${facts.name} capacity in the Availability Zone you requested (${candidate.subnet.zone}). Our system will be working on provisioning additional capacity. You can currently get ${facts.name} capacity by not specifying an Availability Zone in your request or choosing ${others}.`);
}

function checkQuota(deps: Deps, candidate: Candidate, lifecycle: Lifecycle): void {
  const quota = lifecycle === 'spot' ? deps.settings.vcpuQuota.spot : deps.settings.vcpuQuota.onDemand;
  if (quota === undefined || deps.instances.vcpusInUse(lifecycle) + candidate.type.facts.vcpus <= quota) return;
  throw lifecycle === 'spot' ? new AwsFault('MaxSpotInstanceCountExceeded', 'Max spot instance count exceeded')
    : new AwsFault('VcpuLimitExceeded', `You have requested more vCPU capacity than your current vCPU limit of ${quota} allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.`);
}

/** One instance from the pool; throws why not. */
function launchOne(deps: Deps, input: FleetInput, fleetId: string, candidate: Candidate): TwinInstance {
  const lifecycle = input.capacityType as Lifecycle;
  const { type, subnet, image, version, template, profile } = candidate;
  checkQuota(deps, candidate, lifecycle);
  if (deps.network.freeAddresses(subnet.id) <= 0) throw new AwsFault('InsufficientFreeAddressesInSubnet', `There are not enough free addresses in subnet '${subnet.id}' to satisfy the requested number of instances.`);
  const place = deps.capacity.take({ instanceType: type.facts.name, zone: subnet.zone, capacityType: lifecycle });
  if (place === undefined) throw insufficient(candidate, lifecycle);
  const address = deps.network.take(subnet.id);
  if (address === undefined) throw new Error(`subnet ${subnet.id} had a free address a line ago`);
  const templateTags = version.content.tags.filter((one) => one.resourceType === 'instance').map((one) => one.tags);
  return deps.instances.launch({
    instanceType: type.facts.name, zone: subnet.zone, subnetId: subnet.id, capacityType: lifecycle, imageId: image.id, arch: type.facts.arch, vcpus: type.facts.vcpus,
    securityGroupIds: candidate.securityGroupIds, monitoring: version.content.monitoring ?? false, metadataOptions: version.content.metadataOptions,
    tags: { ...Object.assign({}, ...templateTags) as Record<string, string>, ...input.instanceTags, 'aws:ec2:fleet-id': fleetId, 'aws:ec2launchtemplate:id': template.id, 'aws:ec2launchtemplate:version': String(version.number) },
    ...(version.content.userData === undefined ? {} : { userData: version.content.userData }), ...(profile === undefined ? {} : { profileArn: profile.arn }),
    fleetId, ...(input.clientToken === undefined ? {} : { clientToken: input.clientToken }), templateId: template.id, templateVersion: version.number, address, place,
  });
}

const errorOf = (error: unknown, template: Candidate['template'], version: number, override: FleetOverride): FleetError => {
  if (!(error instanceof AwsFault)) throw error;
  return { code: error.code, message: error.message, templateId: template.id, templateName: template.name, templateVersion: String(version), override };
};

type Options = { readonly candidates: readonly Candidate[]; readonly errors: readonly FleetError[] };

/** The overrides that could be launched, and an error for each that could not. A missing launch template fails the whole request. */
function optionsOf(deps: Deps, input: FleetInput): Options {
  const candidates: Candidate[] = [];
  const errors: FleetError[] = [];
  for (const { template: reference, overrides } of input.configs) {
    const { template, version } = deps.templates.forLaunch(reference);
    for (const override of overrides.length > 0 ? overrides : [{}]) {
      try { candidates.push(candidateOf(deps, template, version, override)); } catch (error) { errors.push(errorOf(error, template, version.number, override)); }
    }
  }
  return { candidates, errors };
}

/** Fills the target from the pools in order; a pool that fails is left and its error told once. */
function fill(deps: Deps, input: FleetInput, fleetId: string, ranked: readonly Ranked[]): Omit<FleetResult, 'fleetId'> {
  const groups: FleetGroup[] = [];
  const errors: FleetError[] = [];
  let left = input.capacity;
  for (const { candidate } of ranked) {
    const instanceIds: string[] = [];
    try {
      while (left > 0) { instanceIds.push(launchOne(deps, input, fleetId, candidate).id); left -= 1; }
    } catch (error) { errors.push(errorOf(error, candidate.template, candidate.version.number, candidate.override)); }
    const { template, version, override, type, subnet } = candidate;
    if (instanceIds.length > 0) groups.push({ templateId: template.id, templateName: template.name, templateVersion: version.number, override, instanceType: type.facts.name, zone: subnet.zone, lifecycle: input.capacityType as Lifecycle, instanceIds });
    if (left === 0) break;
  }
  return { groups, errors };
}

const affordable = (input: FleetInput) => ({ candidate, priceMicros }: Ranked): boolean =>
  input.capacityType !== 'spot' || priceMicros <= (candidate.override.maxPriceMicros ?? candidate.type.onDemandPriceMicros ?? unknownPrice);

function createFleet(deps: Deps, input: FleetInput, number: number): FleetResult {
  const options = optionsOf(deps, input);
  const fleetId = `fleet-${hexOf(8, deps.seed, 'fleet', number)}-${hexOf(4, deps.seed, number, 1)}-${hexOf(4, deps.seed, number, 2)}-${hexOf(4, deps.seed, number, 3)}-${hexOf(12, deps.seed, number, 4)}`;
  const lifecycle = input.capacityType as Lifecycle;
  const ranked = options.candidates.map((candidate) => rankOf(deps, candidate, lifecycle));
  const dear = ranked.filter((one) => !affordable(input)(one)).map(({ candidate }) => errorOf(
    new AwsFault('SpotMaxPriceTooLow', 'Your Spot request price is lower than the minimum required Spot request fulfillment price.'), candidate.template, candidate.version.number, candidate.override));
  const filled = fill(deps, input, fleetId, ordered(ranked.filter(affordable(input)), lifecycle === 'spot' ? input.spotStrategy : input.onDemandStrategy));
  return { fleetId, groups: filled.groups, errors: [...options.errors, ...dear, ...filled.errors] };
}

/** EC2 Fleets of type instant, and the tokens that make repeating a request harmless. */
export function createFleets(deps: Deps): Fleets {
  const fleets: Fleet[] = [];
  const tokens = new Map<string, { readonly parameters: string; readonly result: FleetResult }>();
  return {
    create(input) {
      checkFleetInput(input, deps.settings.overridesPerFleetMax);
      const parameters = canonical(input);
      const known = input.clientToken === undefined ? undefined : tokens.get(input.clientToken);
      if (known !== undefined && known.parameters !== parameters) {
        throw new AwsFault('IdempotentParameterMismatch', 'The client token you have provided is associated with a resource that is already provisioned with different parameters. Please use a different token.');
      }
      if (input.dryRun === true) throw wouldHave();
      if (known !== undefined) return known.result;
      const result = createFleet(deps, input, fleets.length + 1);
      fleets.push({ id: result.fleetId, createdMs: deps.timeline.nowMs(), input, result });
      if (input.clientToken !== undefined) tokens.set(input.clientToken, { parameters, result });
      return result;
    },
    dryRun(reference, override) {
      const { template, version } = deps.templates.forLaunch(reference);
      candidateOf(deps, template, version, override);
      throw wouldHave();
    },
    all: () => fleets,
  };
}

/** EC2's answer to a dry run that would have been allowed. */
export const wouldHave = (): AwsFault => new AwsFault('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
