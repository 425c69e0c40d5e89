import {
  CreateFleetCommand, CreateLaunchTemplateCommand, DeleteLaunchTemplateCommand, DescribeLaunchTemplatesCommand,
  type _InstanceType, type BlockDeviceMapping, type CreateFleetCommandInput, type CreateFleetCommandOutput, type RequestLaunchTemplateData, type ResourceType, type Tag,
} from '@aws-sdk/client-ec2';
import type { FleetOutcome, FleetRequest, LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import { CloudError, type Cloud } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { allPages } from '../paging.js';
import { tagList, tagsOf } from './discovery.js';

type Launching = Pick<Cloud, 'ensureLaunchTemplate' | 'launchTemplates' | 'deleteLaunchTemplate' | 'createFleet'>;

/** Launch templates by name and fleets of type `instant`. */
export const launchingOf = ({ ec2 }: AwsClients, calls: AwsCalls): Launching => ({
  async ensureLaunchTemplate(spec) {
    // A name stands for one content, so a template that is already there is the one that is wanted.
    await unless('InvalidLaunchTemplateName.AlreadyExistsException', () => calls.run('write', 'ec2:CreateLaunchTemplate', () => ec2.send(new CreateLaunchTemplateCommand({
      LaunchTemplateName: spec.name,
      LaunchTemplateData: templateData(spec),
      ...tagged(spec.tags, 'launch-template'),
    }))));
  },
  async launchTemplates({ key, value }) {
    const templates = await allPages(
      (NextToken) => calls.run('read', 'ec2:DescribeLaunchTemplates', () => ec2.send(new DescribeLaunchTemplatesCommand({ Filters: [{ Name: `tag:${key}`, Values: [value] }], NextToken }))),
      (page) => ({ items: page.LaunchTemplates, next: page.NextToken }),
    );
    return templates.flatMap(({ LaunchTemplateName: name, CreateTime, Tags }) => (name === undefined ? [] : [{ name, createdMs: CreateTime?.getTime() ?? 0, tags: tagsOf(Tags) }]));
  },
  async deleteLaunchTemplate(name) {
    await unless('InvalidLaunchTemplateName.NotFoundException', () => calls.run('write', 'ec2:DeleteLaunchTemplate', () => ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name }))));
  },
  async createFleet(request) {
    const answer = await calls.run('write', 'ec2:CreateFleet', () => ec2.send(new CreateFleetCommand(fleetInput(request))));
    return fleetOutcome(request, answer);
  },
});

async function unless(awsCode: string, effect: () => Promise<unknown>): Promise<void> {
  try {
    await effect();
  } catch (error) {
    if (!(error instanceof CloudError) || error.awsCode !== awsCode) throw error;
  }
}

/** Tags for what a call makes; none, no specification: EC2 refuses an empty one. */
function tagged<Type extends ResourceType>(tags: Readonly<Record<string, string>>, ...types: readonly Type[]): { TagSpecifications?: { ResourceType: Type; Tags: Tag[] }[] } {
  return Object.keys(tags).length === 0 ? {} : { TagSpecifications: types.map((type) => ({ ResourceType: type, Tags: tagList(tags) })) };
}

/** Security groups stand on the interfaces: a template that names interfaces may name groups nowhere else. */
function templateData(spec: LaunchTemplateSpec): RequestLaunchTemplateData {
  return {
    ImageId: spec.imageId,
    ...(spec.userDataBase64 === '' ? {} : { UserData: spec.userDataBase64 }),
    ...(spec.instanceProfileName === undefined ? {} : { IamInstanceProfile: { Name: spec.instanceProfileName } }),
    Monitoring: { Enabled: spec.detailedMonitoring },
    BlockDeviceMappings: spec.blockDevices.map(({ deviceName, ebs }): BlockDeviceMapping => ({ DeviceName: deviceName, ...(ebs === undefined ? {} : { Ebs: { ...ebs } }) })),
    MetadataOptions: { ...spec.metadataOptions },
    NetworkInterfaces: interfacesOf(spec),
    ...tagged(spec.tags, 'network-interface'),
  };
}

/** One ordinary interface, or one EFA interface on each network card: device 0 on the first, 1 on the others. */
function interfacesOf(spec: LaunchTemplateSpec): NonNullable<RequestLaunchTemplateData['NetworkInterfaces']> {
  const Groups = [...spec.securityGroupIds];
  const publicAddress = spec.associatePublicIpAddress === undefined ? {} : { AssociatePublicIpAddress: spec.associatePublicIpAddress };
  const efas = spec.efaInterfaces ?? 0;
  if (efas === 0) return [{ DeviceIndex: 0, Groups, ...publicAddress }];
  return Array.from({ length: efas }, (_, card) => ({ DeviceIndex: card === 0 ? 0 : 1, NetworkCardIndex: card, InterfaceType: 'efa', Groups, ...(card === 0 ? publicAddress : {}) }));
}

/** Equal requests become equal input, field by field in the same order: EC2 compares a repeated token's parameters. */
function fleetInput(request: FleetRequest): CreateFleetCommandInput {
  const strategy = request.capacityType === 'spot'
    ? { SpotOptions: { AllocationStrategy: spotStrategy(request.allocation) } }
    : { OnDemandOptions: { AllocationStrategy: onDemandStrategy(request.allocation) } };
  return {
    Type: 'instant',
    ClientToken: request.clientToken,
    LaunchTemplateConfigs: request.configs.map(({ launchTemplateName, overrides }) => ({
      LaunchTemplateSpecification: { LaunchTemplateName: launchTemplateName, Version: '$Latest' },
      Overrides: overrides.map(({ instanceType, subnetId, zone, priority }) => ({
        InstanceType: instanceType as _InstanceType, SubnetId: subnetId, AvailabilityZone: zone, ...(priority === undefined ? {} : { Priority: priority }),
      })),
    })),
    TargetCapacitySpecification: { TotalTargetCapacity: request.count, DefaultTargetCapacityType: request.capacityType },
    ...strategy,
    ...tagged(request.tags, 'instance', 'volume', 'fleet'),
    ...(request.context === undefined ? {} : { Context: request.context }),
  };
}

const spotStrategy = (allocation: FleetRequest['allocation']) => {
  if (allocation === 'price-capacity-optimized' || allocation === 'capacity-optimized-prioritized' || allocation === 'lowest-price') return allocation;
  throw new CloudError('invalid-request', 'InvalidAllocation', `allocation "${allocation}" is for on-demand fleets; spot takes price-capacity-optimized or capacity-optimized-prioritized`);
};
const onDemandStrategy = (allocation: FleetRequest['allocation']) => {
  if (allocation === 'lowest-price' || allocation === 'prioritized') return allocation;
  throw new CloudError('invalid-request', 'InvalidAllocation', `allocation "${allocation}" is for spot fleets; on-demand takes lowest-price or prioritized`);
};

function fleetOutcome(request: FleetRequest, answer: CreateFleetCommandOutput): FleetOutcome {
  const zoneOf = new Map(request.configs.flatMap((config) => config.overrides.map(({ subnetId, zone }) => [subnetId, zone] as const)));
  return {
    fleetId: answer.FleetId ?? '',
    instances: (answer.Instances ?? []).flatMap(({ InstanceIds, InstanceType, Lifecycle, LaunchTemplateAndOverrides: from }) => {
      const zone = from?.Overrides?.AvailabilityZone ?? zoneOf.get(from?.Overrides?.SubnetId ?? '') ?? '';
      const capacityType = (Lifecycle ?? request.capacityType) === 'spot' ? 'spot' as const : 'on-demand' as const;
      return (InstanceIds ?? []).map((id) => ({ id, instanceType: InstanceType ?? from?.Overrides?.InstanceType ?? '', zone, capacityType }));
    }),
    errors: (answer.Errors ?? []).map(({ ErrorCode, ErrorMessage, LaunchTemplateAndOverrides: from }) => {
      const { InstanceType: instanceType, SubnetId: subnetId, AvailabilityZone } = from?.Overrides ?? {};
      const zone = AvailabilityZone ?? zoneOf.get(subnetId ?? '');
      return {
        awsCode: ErrorCode ?? 'Unknown', message: ErrorMessage ?? '',
        ...(instanceType === undefined ? {} : { instanceType }), ...(zone === undefined ? {} : { zone }), ...(subnetId === undefined ? {} : { subnetId }),
      };
    }),
  };
}
