import { present } from '@dovetail/core-invariant';

import type { Account, TwinType } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import { canonical, hexOf } from '../foundation/digest.js';
import type { CloudSettings } from '../foundation/settings.js';
import type { SpotMarket } from '../foundation/spot-market.js';
import type { Timeline } from '../foundation/timeline.js';
import { type Candidate, candidateOf } from './candidates.js';
import type { Capacity } from './capacity.js';
import { affordable, type Lifecycle, ordered, type Ranked, rankOf } from './fleet-ranking.js';
import { checkFleetInput, type FleetInput, type FleetOverride } from './fleet-request.js';
import type { Iam } from './iam.js';
import type { Identities } from './identities.js';
import type { Images } from './images.js';
import type { InstanceOrder, Instances, TwinInstance } from './instances.js';
import { checkLaunch, type LaunchAccess, templateTags } from './launch-access.js';
import type { LaunchTemplates, TemplateReference } from './launch-templates.js';
import type { Network } from './network.js';
import { launchedVolumes } from './volumes.js';

/** An error of a fleet that did not launch some choice, in the names of EC2. */
export type FleetError = {
  readonly code: string;
  readonly message: string;
  readonly templateId?: string;
  readonly templateName?: string;
  readonly templateVersion?: string;
  readonly override: FleetOverride;
};

/** The instances that a fleet launched from one template and choice. */
export type FleetGroup = {
  readonly templateId: string;
  readonly templateName: string;
  readonly templateVersion: number;
  readonly override: FleetOverride;
  readonly instanceType: string;
  readonly zone: string;
  readonly lifecycle: 'on-demand' | 'spot';
  readonly instanceIds: readonly string[];
};

/** The answer to a CreateFleet request: instances and errors side by side. */
export type FleetResult = {
  readonly fleetId: string;
  readonly groups: readonly FleetGroup[];
  readonly errors: readonly FleetError[];
};
/** A fleet that was created, as DescribeFleets reports it. */
export type Fleet = {
  readonly id: string;
  readonly createdMs: number;
  readonly input: FleetInput;
  readonly result: FleetResult;
};

type Caller = LaunchAccess['caller'];
/** The purchase and the tags of a dry run of RunInstances, and its caller. */
type DryRun = Pick<FleetInput, 'capacityType' | 'instanceTags' | 'volumeTags'> & Caller;

type Deps = {
  readonly timeline: Timeline;
  readonly seed: string;
  readonly account: Pick<Account, 'accountId' | 'region'>;
  readonly settings: CloudSettings;
  readonly identities: Identities;
  readonly types: ReadonlyMap<string, TwinType>;
  readonly network: Network;
  readonly images: Images;
  readonly iam: Iam;
  readonly capacity: Capacity;
  readonly market: SpotMarket;
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
};
function insufficient(candidate: Candidate, lifecycle: Lifecycle): AwsFault {
  const { facts, zones } = candidate.type;
  if (lifecycle === 'spot')
    return new AwsFault(
      'InsufficientInstanceCapacity',
      'There is no Spot capacity available that matches your request.',
    );
  const others = zones.filter((zone) => zone !== candidate.subnet.zone).join(', ');
  return new AwsFault(
    'InsufficientInstanceCapacity',
    `We currently do not have sufficient ${facts.name} capacity in the Availability Zone you requested (${candidate.subnet.zone}). Our system will be working on provisioning additional capacity. You can currently get ${facts.name} capacity by not specifying an Availability Zone in your request or choosing ${others}.`,
  );
}

function checkQuota(deps: Deps, candidate: Candidate, lifecycle: Lifecycle): void {
  const quota =
    lifecycle === 'spot' ? deps.settings.vcpuQuota.spot : deps.settings.vcpuQuota.onDemand;
  if (
    quota === undefined ||
    deps.instances.vcpusInUse(lifecycle) + candidate.type.facts.vcpus <= quota
  )
    return;
  throw lifecycle === 'spot'
    ? new AwsFault('MaxSpotInstanceCountExceeded', 'Max spot instance count exceeded')
    : new AwsFault(
        'VcpuLimitExceeded',
        `You have requested more vCPU capacity than your current vCPU limit of ${quota} allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.`,
      );
}

/** The tags of a new instance: the template's, the request's, and those that EC2 adds. */
function tagsOf(
  { template, version }: Candidate,
  input: FleetInput,
  fleetId: string,
): Readonly<Record<string, string>> {
  return {
    ...templateTags(version.content, 'instance'),
    ...input.instanceTags,
    'aws:ec2:fleet-id': fleetId,
    'aws:ec2launchtemplate:id': template.id,
    'aws:ec2launchtemplate:version': String(version.number),
  };
}

/** Takes a place and an address for one instance. Throws AwsFault when there is none. */
function reserve(
  deps: Deps,
  candidate: Candidate,
  lifecycle: Lifecycle,
): Pick<InstanceOrder, 'place' | 'address'> {
  const { type, subnet } = candidate;
  if (deps.network.freeAddresses(subnet.id) <= 0)
    throw new AwsFault(
      'InsufficientFreeAddressesInSubnet',
      `There are not enough free addresses in subnet '${subnet.id}' to satisfy the requested number of instances.`,
    );
  const place = deps.capacity.take({
    instanceType: type.facts.name,
    zone: subnet.zone,
    capacityType: lifecycle,
  });
  if (place === undefined) throw insufficient(candidate, lifecycle);
  return { place, address: present(deps.network.take(subnet.id), 'a subnet has a free address') };
}

/** Launches one instance from the pool. Throws AwsFault when it cannot. */
function launchOne(
  deps: Deps,
  input: FleetInput,
  fleetId: string,
  candidate: Candidate,
): TwinInstance {
  const lifecycle = input.capacityType as Lifecycle;
  const { type, subnet, image, version, template, profile } = candidate;
  const { userData, monitoring, metadataOptions, tenancy } = version.content;
  checkQuota(deps, candidate, lifecycle);
  return deps.instances.launch({
    ...reserve(deps, candidate, lifecycle),
    instanceType: type.facts.name,
    zone: subnet.zone,
    subnetId: subnet.id,
    capacityType: lifecycle,
    imageId: image.id,
    arch: type.facts.arch,
    vcpus: type.facts.vcpus,
    securityGroupIds: candidate.securityGroupIds,
    monitoring: monitoring ?? false,
    metadataOptions,
    tenancy: tenancy ?? 'default',
    tags: tagsOf(candidate, input, fleetId),
    ...launchedVolumes(candidate, input),
    ...(userData === undefined ? {} : { userData }),
    ...(profile === undefined ? {} : { profileArn: profile.arn }),
    fleetId,
    ...(input.clientToken === undefined ? {} : { clientToken: input.clientToken }),
    templateId: template.id,
    templateVersion: version.number,
  });
}

const errorOf = (
  error: unknown,
  template: Candidate['template'],
  version: number,
  override: FleetOverride,
): FleetError => {
  if (!(error instanceof AwsFault)) throw error;
  return {
    code: error.code,
    message: error.message,
    templateId: template.id,
    templateName: template.name,
    templateVersion: String(version),
    override,
  };
};

type Options = {
  readonly candidates: readonly Candidate[];
  readonly errors: readonly FleetError[];
};

/**
 * The overrides that can be launched, and an error for each that cannot. A missing launch template
 * fails the whole request.
 */
function optionsOf(deps: Deps, input: FleetInput, caller: Caller): Options {
  const candidates: Candidate[] = [];
  const errors: FleetError[] = [];
  for (const { template: reference, overrides } of input.configs) {
    const { template, version } = deps.templates.forLaunch(reference);
    for (const override of overrides.length > 0 ? overrides : [{}]) {
      try {
        const candidate = candidateOf(deps, template, version, override);
        checkLaunch({ ...deps, candidate, request: input, caller });
        candidates.push(candidate);
      } catch (error) {
        errors.push(errorOf(error, template, version.number, override));
      }
    }
  }
  return { candidates, errors };
}

/** Fills the target from the pools in order. A pool that fails is left, with one error. */
function fill(
  deps: Deps,
  input: FleetInput,
  fleetId: string,
  ranked: readonly Ranked[],
): Omit<FleetResult, 'fleetId'> {
  const groups: FleetGroup[] = [];
  const errors: FleetError[] = [];
  let left = input.capacity;
  for (const { candidate } of ranked) {
    const instanceIds: string[] = [];
    try {
      while (left > 0) {
        instanceIds.push(launchOne(deps, input, fleetId, candidate).id);
        left -= 1;
      }
    } catch (error) {
      errors.push(errorOf(error, candidate.template, candidate.version.number, candidate.override));
    }
    const { template, version, override, type, subnet } = candidate;
    if (instanceIds.length > 0)
      groups.push({
        templateId: template.id,
        templateName: template.name,
        templateVersion: version.number,
        override,
        instanceType: type.facts.name,
        zone: subnet.zone,
        lifecycle: input.capacityType as Lifecycle,
        instanceIds,
      });
    if (left === 0) break;
  }
  return { groups, errors };
}

function fleetIdOf(seed: string, number: number): string {
  const part = (length: number, index: number): string => hexOf(length, seed, number, index);
  return `fleet-${hexOf(8, seed, 'fleet', number)}-${part(4, 1)}-${part(4, 2)}-${part(4, 3)}-${part(12, 4)}`;
}

const priceTooLow = ({ candidate }: Ranked): FleetError =>
  errorOf(
    new AwsFault(
      'SpotMaxPriceTooLow',
      'Your Spot request price is lower than the minimum required Spot request fulfillment price.',
    ),
    candidate.template,
    candidate.version.number,
    candidate.override,
  );

function createFleet(deps: Deps, input: FleetInput, caller: Caller, number: number): FleetResult {
  const options = optionsOf(deps, input, caller);
  const fleetId = fleetIdOf(deps.seed, number);
  const lifecycle = input.capacityType as Lifecycle;
  const strategy = lifecycle === 'spot' ? input.spotStrategy : input.onDemandStrategy;
  const ranked = options.candidates.map((candidate) => rankOf(deps, candidate, lifecycle));
  const isAffordable = affordable(input);
  const refused = ranked.filter((one) => !isAffordable(one)).map(priceTooLow);
  const filled = fill(deps, input, fleetId, ordered(ranked.filter(isAffordable), strategy));
  const errors = [...options.errors, ...refused, ...filled.errors];
  return { fleetId, groups: filled.groups, errors };
}

/** EC2 Fleets of type instant. Client tokens make it harmless to repeat a request. */
export class Fleets {
  readonly #deps: Deps;
  readonly #fleets: Fleet[] = [];
  readonly #tokens = new Map<
    string,
    { readonly parameters: string; readonly result: FleetResult }
  >();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Launches, or returns what the same token gave before. Throws IdempotentParameterMismatch when
   * the token had other parameters. An override that the caller may not launch is an error of that
   * override. In process there is no caller, and everything is allowed.
   */
  create(input: FleetInput, caller: Caller = {}): FleetResult {
    checkFleetInput(input, this.#deps.settings.overridesPerFleetMax);
    const { clientToken } = input;
    const parameters = canonical(input);
    const known = clientToken === undefined ? undefined : this.#tokens.get(clientToken);
    if (known !== undefined && known.parameters !== parameters) {
      throw new AwsFault(
        'IdempotentParameterMismatch',
        'The client token you have provided is associated with a resource that is already provisioned with different parameters. Please use a different token.',
      );
    }
    if (input.dryRun === true) throw wouldHave();
    if (known !== undefined) return known.result;
    const result = createFleet(this.#deps, input, caller, this.#fleets.length + 1);
    const createdMs = this.#deps.timeline.nowMs();
    this.#fleets.push({ id: result.fleetId, createdMs, input, result });
    if (clientToken !== undefined) this.#tokens.set(clientToken, { parameters, result });
    return result;
  }

  /**
   * A dry run of RunInstances. Throws DryRunOperation when the launch would be tried, else its
   * fault.
   */
  dryRun(reference: TemplateReference, override: FleetOverride, run: DryRun): never {
    const { template, version } = this.#deps.templates.forLaunch(reference);
    const candidate = candidateOf(this.#deps, template, version, override);
    checkLaunch({ ...this.#deps, candidate, request: run, caller: run });
    throw wouldHave();
  }

  all(): readonly Fleet[] {
    return this.#fleets;
  }
}

/** EC2's answer to a dry run that would have been allowed. */
export const wouldHave = (): AwsFault =>
  new AwsFault('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
