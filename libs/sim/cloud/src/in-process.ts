import { classifyFleetError } from '@dovetail/core-ec2-model';
import { CloudError, type Cloud, type Ec2Filter, type FleetOutcome, type FleetRequest, type Image, type Instance, type InterruptionQueue, type LaunchTemplateSpec, type PriceQuote } from '@dovetail/core-ports';
import { AwsFault } from './fault.js';
import type { FleetResult } from './fleet.js';
import type { FleetInput } from './fleet-request.js';
import { spotPriceAt } from './prices.js';
import type { TemplateContent } from './launch-templates.js';
import type { CloudTwin, TwinInstance } from './twin.js';
import type { TwinType } from './world.js';

type Run = <T>(action: string, effect: () => T | Promise<T>, resources?: number) => Promise<T>;

/** Every call passes the gate under the name of the AWS action it stands for, so counts, limits and ordered failures hold here too. */
function runnerFor(twin: CloudTwin): Run {
  return async (action, effect, resources = 1) => {
    try { return await twin.gate.run(action, { resources }, effect); } catch (error) { throw toCloudError(error); }
  };
}

const toCloudError = (error: unknown): unknown => (error instanceof AwsFault
  ? new CloudError(classifyFleetError(error.code).code, error.code, error.message, { cause: error }) : error);

function instanceOf(instance: TwinInstance): Instance {
  const { id, instanceType, zone, state, capacityType, imageId, launchedMs, subnetId, securityGroupIds, tags } = instance;
  const gone = state === 'terminated';
  return { id, instanceType, zone, state, capacityType, imageId, launchedMs, securityGroupIds, tags, ...(gone ? {} : { subnetId, privateDnsName: instance.privateDnsName }) };
}

const contentOf = (spec: LaunchTemplateSpec): TemplateContent => ({
  imageId: spec.imageId, userData: spec.userDataBase64, monitoring: spec.detailedMonitoring,
  ...(spec.instanceProfileName === undefined ? {} : { instanceProfile: { name: spec.instanceProfileName } }),
  // An address setting belongs to a network interface, and then the groups do too.
  securityGroupIds: spec.associatePublicIpAddress === undefined ? spec.securityGroupIds : [],
  interfaces: spec.associatePublicIpAddress === undefined ? []
    : [{ deviceIndex: 0, associatePublicIpAddress: spec.associatePublicIpAddress, groups: spec.securityGroupIds, other: {} }],
  blockDevices: spec.blockDevices.map(({ deviceName, ebs }) => ({ deviceName, ...(ebs === undefined ? {} : { ebs: stringsOf(ebs) }) })),
  metadataOptions: stringsOf(spec.metadataOptions), tags: [],
});

const stringsOf = (values: Readonly<Record<string, string | number | boolean>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));

const inputOf = (request: FleetRequest): FleetInput => ({
  type: 'instant', clientToken: request.clientToken, capacityType: request.capacityType, capacity: request.count,
  spotStrategy: request.capacityType === 'spot' && request.allocation !== 'prioritized' ? request.allocation : 'lowest-price',
  onDemandStrategy: request.allocation === 'prioritized' ? 'prioritized' : 'lowest-price',
  configs: request.configs.map(({ launchTemplateName, overrides }) => ({ template: { name: launchTemplateName, version: '$Latest' }, overrides })),
  instanceTags: request.tags, fleetTags: request.tags, volumeTags: request.tags,
  ...(request.context === undefined ? {} : { context: request.context }),
});

const outcomeOf = (result: FleetResult): FleetOutcome => ({
  fleetId: result.fleetId,
  instances: result.groups.flatMap(({ instanceIds, instanceType, zone, lifecycle }) => instanceIds.map((id) => ({ id, instanceType, zone, capacityType: lifecycle }))),
  errors: result.errors.map(({ code, message, override }) => ({
    awsCode: code, message,
    ...(override.instanceType === undefined ? {} : { instanceType: override.instanceType }),
    ...(override.zone === undefined ? {} : { zone: override.zone }),
    ...(override.subnetId === undefined ? {} : { subnetId: override.subnetId }),
  })),
});

type Catalogue = Pick<Cloud, 'instanceTypes' | 'instanceTypeZones' | 'onDemandPrices' | 'spotPrices' | 'subnets' | 'securityGroups' | 'images' | 'parameter' | 'clusterInfo' | 'identity'>;

const onDemandQuote = (type: TwinType): readonly PriceQuote[] => (type.onDemandPriceMicros === undefined ? [] : [{
  instanceType: type.facts.name, capacityType: 'on-demand', priceMicrosPerHour: type.onDemandPriceMicros, estimated: type.priceEstimated ?? false,
}]);

const spotQuotes = (twin: CloudTwin, type: TwinType): readonly PriceQuote[] => type.zones.flatMap((zone) => {
  const price = spotPriceAt(twin.seed, type, zone, twin.timeline.nowMs());
  return price === undefined ? [] : [{ instanceType: type.facts.name, zone, capacityType: 'spot', priceMicrosPerHour: price.priceMicros, estimated: type.priceEstimated ?? false }];
});

function catalogue(twin: CloudTwin, run: Run): Catalogue {
  const { world } = twin;
  return {
    instanceTypes: () => run('ec2:DescribeInstanceTypes', () => world.types.map((type) => type.facts)),
    instanceTypeZones: () => run('ec2:DescribeInstanceTypeOfferings', () => new Map(world.types.map((type) => [type.facts.name, type.zones]))),
    onDemandPrices: () => run('pricing:GetProducts', () => world.types.flatMap(onDemandQuote)),
    spotPrices: () => run('ec2:DescribeSpotPriceHistory', () => world.types.flatMap((type) => spotQuotes(twin, type))),
    subnets: (filters) => run('ec2:DescribeSubnets', () => twin.network.subnets({ filters })
      .map(({ id, zone, zoneId, tags }) => ({ id, zone, zoneId, tags, freeAddresses: twin.network.freeAddresses(id) }))),
    securityGroups: (filters) => run('ec2:DescribeSecurityGroups', () => twin.network.securityGroups({ filters }).map(({ id, name, tags }) => ({ id, name, tags }))),
    images: (query) => run('ec2:DescribeImages', () => twin.images.describe({ ...query, includeDeprecated: true }).map((image): Image => ({
      id: image.id, name: image.name, arch: image.arch, createdMs: image.createdMs, tags: image.tags, deprecated: (image.deprecatedMs ?? Number.POSITIVE_INFINITY) <= twin.timeline.nowMs(),
    }))),
    parameter: (name) => run('ssm:GetParameter', () => twin.images.parameter(name)?.value),
    clusterInfo: (name) => run('eks:DescribeCluster', () => {
      const { version, endpoint, certificateAuthority, serviceCidr, name: own } = twin.cluster();
      return name === own ? { version, endpoint, certificateAuthority, serviceCidr } : undefined;
    }),
    identity: () => run('sts:GetCallerIdentity', () => ({ accountId: world.accountId, region: world.region })),
  };
}

type Launching = Pick<Cloud, 'ensureLaunchTemplate' | 'launchTemplates' | 'deleteLaunchTemplate' | 'createFleet'>;

/** The effect, unless AWS says that it is already so. */
function unless(code: string, effect: () => unknown): void {
  try { effect(); } catch (error) { if (!(error instanceof AwsFault) || error.code !== code) throw error; }
}

function launching(twin: CloudTwin, run: Run): Launching {
  return {
    ensureLaunchTemplate: (spec) => run('ec2:CreateLaunchTemplate', () => {
      unless('InvalidLaunchTemplateName.AlreadyExistsException', () => twin.templates.create({ name: spec.name, content: contentOf(spec), tags: spec.tags }));
    }),
    launchTemplates: ({ key, value }) => run('ec2:DescribeLaunchTemplates', () => twin.templates.describe({ filters: [{ name: `tag:${key}`, values: [value] }] })
      .map(({ name, createdMs, tags }) => ({ name, createdMs, tags }))),
    deleteLaunchTemplate: (name) => run('ec2:DeleteLaunchTemplate', () => { unless('InvalidLaunchTemplateName.NotFoundException', () => twin.templates.delete({ name })); }),
    createFleet: (request) => run('ec2:CreateFleet', () => outcomeOf(twin.fleets.create(inputOf(request)))),
  };
}

type Running = Pick<Cloud, 'instancesByTag' | 'instancesById' | 'terminate' | 'tagInstances'>;

/** One id alone; undefined when it is gone or going. */
async function terminateOne(twin: CloudTwin, run: Run, id: string): Promise<{ id: string; awsCode: string; message: string } | undefined> {
  return run('ec2:TerminateInstances', () => {
    try { twin.instances.terminate([id]); return undefined; } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      return error.code === 'InvalidInstanceID.NotFound' ? undefined : { id, awsCode: error.code, message: error.message };
    }
  });
}

function running(twin: CloudTwin, run: Run): Running {
  const describe = (filters: readonly Ec2Filter[]): Promise<readonly Instance[]> => run('ec2:DescribeInstances', () => twin.instances.describe({ filters }).map(instanceOf));
  return {
    instancesByTag: describe,
    async instancesById(ids) {
      const found: Instance[] = [];
      // By filter, not by id: an id that is missing then hides no other. EC2 takes 200 filter values at a time.
      for (let from = 0; from < ids.length; from += 200) found.push(...await describe([{ name: 'instance-id', values: ids.slice(from, from + 200) }]));
      return found;
    },
    async terminate(ids) {
      if (ids.length === 0) return [];
      const whole = await run('ec2:TerminateInstances', () => {
        try { twin.instances.terminate(ids); return true; } catch (error) { if (error instanceof AwsFault) return false; throw error; }
      }, ids.length);
      if (whole) return [];
      const refused = [];
      // One bad id spoils the batch, so each is tried alone.
      for (const id of ids) refused.push(await terminateOne(twin, run, id));
      return refused.filter((one) => one !== undefined);
    },
    tagInstances: (ids, tags) => run('ec2:CreateTags', () => { twin.tag(ids, tags); }),
  };
}

type Profiles = Pick<Cloud, 'ensureInstanceProfile' | 'instanceProfileExists' | 'deleteInstanceProfile'>;

function profiles(twin: CloudTwin, run: Run): Profiles {
  return {
    async ensureInstanceProfile({ name, role, path, tags }) {
      await run('iam:CreateInstanceProfile', () => { unless('EntityAlreadyExists', () => twin.iam.createProfile({ name, path, tags })); });
      await run('iam:AddRoleToInstanceProfile', () => {
        const [member] = twin.iam.profile(name).roles;
        if (member?.name === role) return;
        if (member !== undefined) twin.iam.removeRole(name, member.name);
        twin.iam.addRole(name, role);
      });
      return name;
    },
    instanceProfileExists: (name) => run('iam:GetInstanceProfile', () => twin.iam.profiles().some((profile) => profile.name === name)),
    deleteInstanceProfile: (name) => run('iam:DeleteInstanceProfile', () => {
      unless('NoSuchEntity', () => {
        for (const role of twin.iam.profile(name).roles) twin.iam.removeRole(name, role.name);
        twin.iam.deleteProfile(name);
      });
    }),
  };
}

/** The ports directly over the twin, without a wire: what the AWS adapter does against AWS, for tests and simulation. */
export function inProcessCloud(twin: CloudTwin): Cloud & InterruptionQueue {
  const run = runnerFor(twin);
  return {
    ...catalogue(twin, run), ...launching(twin, run), ...running(twin, run), ...profiles(twin, run),
    async receive(stop) {
      const ended = new AbortController();
      const end = (): void => { ended.abort(); };
      stop.addEventListener('abort', end, { once: true });
      if (stop.aborted) return [];
      try {
        const messages = await run('sqs:ReceiveMessage', () => twin.queue.receive({ max: 10, visibilityMs: 20_000, waitMs: 20_000 }, ended.signal));
        return messages.map(({ body, receipt, sentMs, receives }) => ({ body, receipt, sentMs, receives }));
      } finally { stop.removeEventListener('abort', end); }
    },
    delete: (receipt) => run('sqs:DeleteMessage', () => { twin.queue.delete(receipt); }),
  };
}
