import {
  type _InstanceType,
  type BlockDeviceMapping,
  CreateFleetCommand,
  type CreateFleetCommandInput,
  type CreateFleetCommandOutput,
  type CreateFleetError,
  type CreateFleetInstance,
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeLaunchTemplatesCommand,
  EC2Client,
  type FleetLaunchTemplateOverrides,
  type RequestLaunchTemplateData,
  type ResourceType,
  type Tag,
} from '@aws-sdk/client-ec2';
import type { FleetOutcome, FleetRequest, LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import {
  CloudError,
  type Fleets,
  type LaunchTemplate,
  type LaunchTemplates,
} from '@dovetail/core-ports';

import { allPages } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';
import { tagList, tagsOf } from '../calls/tags.js';

/** Launch templates by name, and fleets of type `instant`. */
export const awsFleets = (session: AwsSession): LaunchTemplates & Fleets => ({
  async ensureLaunchTemplate(spec) {
    // A name stands for one content, so a template that exists already is the wanted one.
    const awsCode = 'InvalidLaunchTemplateName.AlreadyExistsException';
    return unless(awsCode, createTemplate(session, spec));
  },
  launchTemplates: (tag) => templatesByTag(session, tag),
  async deleteLaunchTemplate(name) {
    await unless('InvalidLaunchTemplateName.NotFoundException', deleteTemplate(session, name));
  },
  async createFleet(request) {
    const answer = await session.calls.run('write', 'ec2:CreateFleet', () =>
      session.client(EC2Client).send(new CreateFleetCommand(fleetInput(request))),
    );
    return fleetOutcome(request, answer);
  },
});

const createTemplate = (session: AwsSession, spec: LaunchTemplateSpec): Promise<unknown> =>
  session.calls.run('write', 'ec2:CreateLaunchTemplate', () =>
    session
      .client(EC2Client)
      .send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: spec.name,
          LaunchTemplateData: templateData(spec),
          ...tagged(spec.tags, 'launch-template'),
        }),
      ),
  );

const deleteTemplate = (session: AwsSession, name: string): Promise<unknown> =>
  session.calls.run('write', 'ec2:DeleteLaunchTemplate', () =>
    session.client(EC2Client).send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name })),
  );

async function templatesByTag(
  session: AwsSession,
  { key, value }: { readonly key: string; readonly value: string },
): Promise<readonly LaunchTemplate[]> {
  const templates = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeLaunchTemplates', () =>
        session
          .client(EC2Client)
          .send(
            new DescribeLaunchTemplatesCommand({
              Filters: [{ Name: `tag:${key}`, Values: [value] }],
              NextToken,
            }),
          ),
      ),
    (page) => ({ items: page.LaunchTemplates, next: page.NextToken }),
  );
  return templates.flatMap(({ LaunchTemplateName: name, CreateTime, Tags }) =>
    name === undefined ? [] : [{ name, createdMs: CreateTime?.getTime() ?? 0, tags: tagsOf(Tags) }],
  );
}

/**
 * Waits for the effect. A failure with this code of AWS counts as success. Answers whether the call
 * itself succeeded.
 */
async function unless(awsCode: string, effect: Promise<unknown>): Promise<boolean> {
  try {
    await effect;
    return true;
  } catch (error) {
    if (!(error instanceof CloudError) || error.awsCode !== awsCode) throw error;
    return false;
  }
}

/**
 * Tags for the resources that a call makes. Without tags there is no specification, because EC2
 * refuses an empty one.
 */
function tagged<Type extends ResourceType>(
  tags: Readonly<Record<string, string>>,
  ...types: readonly Type[]
): { TagSpecifications?: { ResourceType: Type; Tags: Tag[] }[] } {
  return Object.keys(tags).length === 0
    ? {}
    : { TagSpecifications: types.map((type) => ({ ResourceType: type, Tags: tagList(tags) })) };
}

/**
 * Security groups stand on the interfaces: EC2 refuses them elsewhere in a template that names
 * interfaces.
 */
function templateData(spec: LaunchTemplateSpec): RequestLaunchTemplateData {
  return {
    ImageId: spec.imageId,
    ...(spec.userDataBase64 === '' ? {} : { UserData: spec.userDataBase64 }),
    ...(spec.instanceProfileName === undefined
      ? {}
      : { IamInstanceProfile: { Name: spec.instanceProfileName } }),
    Monitoring: { Enabled: spec.detailedMonitoring },
    BlockDeviceMappings: spec.blockDevices.map(({ deviceName, ebs }): BlockDeviceMapping => ({
      DeviceName: deviceName,
      ...(ebs === undefined ? {} : { Ebs: { ...ebs } }),
    })),
    MetadataOptions: { ...spec.metadataOptions },
    NetworkInterfaces: interfacesOf(spec),
    ...(spec.tenancy === undefined ? {} : { Placement: { Tenancy: spec.tenancy } }),
    ...tagged(
      spec.tags,
      'network-interface',
      ...(spec.forSpot === true ? (['spot-instances-request'] as const) : []),
    ),
  };
}

/**
 * One ordinary interface, or one EFA interface on each network card: device 0 on the first card, 1
 * on the others.
 */
function interfacesOf(
  spec: LaunchTemplateSpec,
): NonNullable<RequestLaunchTemplateData['NetworkInterfaces']> {
  const Groups = [...spec.securityGroupIds];
  const publicAddress =
    spec.associatePublicIpAddress === undefined
      ? {}
      : { AssociatePublicIpAddress: spec.associatePublicIpAddress };
  const efas = spec.efaInterfaces ?? 0;
  if (efas === 0) return [{ DeviceIndex: 0, Groups, ...publicAddress }];
  return Array.from({ length: efas }, (_, card) => ({
    DeviceIndex: card === 0 ? 0 : 1,
    NetworkCardIndex: card,
    InterfaceType: 'efa',
    Groups,
    ...(card === 0 ? publicAddress : {}),
  }));
}

/**
 * Equal requests become equal input, with fields in the same order: EC2 compares the parameters of
 * a repeated token.
 */
function fleetInput(request: FleetRequest): CreateFleetCommandInput {
  const strategy =
    request.capacityType === 'spot'
      ? { SpotOptions: { AllocationStrategy: request.allocation } }
      : { OnDemandOptions: { AllocationStrategy: onDemandStrategy(request.allocation) } };
  return {
    Type: 'instant',
    ClientToken: request.clientToken,
    LaunchTemplateConfigs: request.configs.map(({ launchTemplateName, overrides }) => ({
      LaunchTemplateSpecification: { LaunchTemplateName: launchTemplateName, Version: '$Latest' },
      Overrides: overrides.map(({ instanceType, subnetId, zone }) => ({
        InstanceType: instanceType as _InstanceType,
        SubnetId: subnetId,
        AvailabilityZone: zone,
      })),
    })),
    TargetCapacitySpecification: {
      TotalTargetCapacity: request.count,
      DefaultTargetCapacityType: request.capacityType,
    },
    ...strategy,
    ...tagged(request.tags, 'instance', 'volume', 'fleet'),
    ...(request.context === undefined ? {} : { Context: request.context }),
  };
}

const onDemandStrategy = (allocation: FleetRequest['allocation']) => {
  if (allocation === 'lowest-price') return allocation;
  throw new CloudError(
    'invalid-request',
    'InvalidAllocation',
    `allocation "${allocation}" is for spot fleets; on-demand takes lowest-price`,
  );
};

type FleetInstance = FleetOutcome['instances'][number];
type FleetError = FleetOutcome['errors'][number];

/**
 * EC2 names the zone or the subnet of an override, not always both. The request knows each subnet's
 * zone.
 */
function fleetOutcome(request: FleetRequest, answer: CreateFleetCommandOutput): FleetOutcome {
  const zoneBySubnet = new Map(
    request.configs.flatMap((config) =>
      config.overrides.map(({ subnetId, zone }) => [subnetId, zone] as const),
    ),
  );
  const zoneOf = (override: FleetLaunchTemplateOverrides | undefined): string | undefined =>
    override?.AvailabilityZone ?? zoneBySubnet.get(override?.SubnetId ?? '');
  return {
    fleetId: answer.FleetId ?? '',
    instances: (answer.Instances ?? []).flatMap((group) =>
      instancesOf(group, request.capacityType, zoneOf),
    ),
    errors: (answer.Errors ?? []).map((error) => fleetErrorOf(error, zoneOf)),
  };
}

type ZoneOf = (override: FleetLaunchTemplateOverrides | undefined) => string | undefined;

function instancesOf(
  group: CreateFleetInstance,
  requested: FleetRequest['capacityType'],
  zoneOf: ZoneOf,
): readonly FleetInstance[] {
  const override = group.LaunchTemplateAndOverrides?.Overrides;
  const spot = (group.Lifecycle ?? requested) === 'spot';
  return (group.InstanceIds ?? []).map((id) => ({
    id,
    instanceType: group.InstanceType ?? override?.InstanceType ?? '',
    zone: zoneOf(override) ?? '',
    capacityType: spot ? 'spot' : 'on-demand',
  }));
}

function fleetErrorOf(error: CreateFleetError, zoneOf: ZoneOf): FleetError {
  const override = error.LaunchTemplateAndOverrides?.Overrides;
  const { InstanceType: instanceType, SubnetId: subnetId } = override ?? {};
  const zone = zoneOf(override);
  return {
    awsCode: error.ErrorCode ?? 'Unknown',
    message: error.ErrorMessage ?? '',
    ...(instanceType === undefined ? {} : { instanceType }),
    ...(zone === undefined ? {} : { zone }),
    ...(subnetId === undefined ? {} : { subnetId }),
  };
}
