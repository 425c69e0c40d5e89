import { AwsFault, invalidValue, NotServedFault } from '../foundation/aws-fault.js';
import { dollarsOf } from '../foundation/prices.js';
import type {
  FleetInput,
  FleetOverride,
  OnDemandStrategy,
  SpotStrategy,
} from '../parts/fleet-request.js';
import type { Fleet, FleetError, FleetGroup } from '../parts/fleets.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { templateReference } from './ec2-templates.js';
import type { Caller, QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params, tagSpecifications } from './params.js';
import { items, tagItems, timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

function microsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const micros = Math.round(Number(text) * 1_000_000);
  if (!Number.isFinite(micros) || micros <= 0)
    throw invalidValue('MaxPrice', text, 'It must be a price in dollars above 0.');
  return micros;
}

function overrideOf(params: Params): FleetOverride {
  const [instanceType, subnetId, zone, imageId] = [
    params.text('InstanceType'),
    params.text('SubnetId'),
    params.text('AvailabilityZone'),
    params.text('ImageId'),
  ];
  const [priority, maxPriceMicros] = [
    params.decimal('Priority'),
    microsOf(params.text('MaxPrice')),
  ];
  return {
    ...(instanceType === undefined ? {} : { instanceType }),
    ...(subnetId === undefined ? {} : { subnetId }),
    ...(zone === undefined ? {} : { zone }),
    ...(imageId === undefined ? {} : { imageId }),
    ...(priority === undefined ? {} : { priority }),
    ...(maxPriceMicros === undefined ? {} : { maxPriceMicros }),
  };
}

function inputOf(params: Params): FleetInput {
  const tags = tagSpecifications(params);
  const target = params.at('TargetCapacitySpecification');
  const [clientToken, context, dryRun] = [
    params.text('ClientToken'),
    params.text('Context'),
    params.flag('DryRun'),
  ];
  return {
    type: params.text('Type') ?? 'maintain',
    capacityType: target.required('DefaultTargetCapacityType'),
    capacity: target.integer('TotalTargetCapacity') ?? 0,
    // Strategies outside the served ones are refused by name in checkFleetInput.
    spotStrategy: (params.at('SpotOptions').text('AllocationStrategy') ??
      'lowest-price') as SpotStrategy,
    onDemandStrategy: (params.at('OnDemandOptions').text('AllocationStrategy') ??
      'lowest-price') as OnDemandStrategy,
    configs: params
      .list('LaunchTemplateConfigs')
      .map((config) => ({
        template: templateReference(config.at('LaunchTemplateSpecification')),
        overrides: config.list('Overrides').map(overrideOf),
      })),
    instanceTags: tags.get('instance') ?? {},
    fleetTags: tags.get('fleet') ?? {},
    volumeTags: tags.get('volume') ?? {},
    ...(clientToken === undefined ? {} : { clientToken }),
    ...(context === undefined ? {} : { context }),
    ...(dryRun === undefined ? {} : { dryRun }),
  };
}

type Sourced = {
  readonly templateId?: string;
  readonly templateName?: string;
  readonly templateVersion?: string | number;
  readonly override: FleetOverride;
};

function sourceXml({ templateId, templateVersion, override }: Sourced): Xml {
  return {
    launchTemplateSpecification: { launchTemplateId: templateId, version: templateVersion },
    overrides: {
      instanceType: override.instanceType,
      subnetId: override.subnetId,
      availabilityZone: override.zone,
      imageId: override.imageId,
      priority: override.priority,
      maxPrice:
        override.maxPriceMicros === undefined ? undefined : dollarsOf(override.maxPriceMicros),
    },
  };
}

const groupXml = (group: FleetGroup) => ({
  launchTemplateAndOverrides: sourceXml(group),
  lifecycle: group.lifecycle,
  instanceIds: items(group.instanceIds),
  instanceType: group.instanceType,
});

/** CreateFleet also says where the instances are, which DescribeFleets does not. */
const launchedXml = (group: FleetGroup): Xml => ({
  ...groupXml(group),
  availabilityZone: group.zone,
  subnetId: group.override.subnetId,
});

const errorXml = (error: FleetError, lifecycle: string): Xml => ({
  launchTemplateAndOverrides: sourceXml(error),
  lifecycle,
  errorCode: error.code,
  errorMessage: error.message,
});

function createFleet(twin: CloudTwin, params: Params, caller: Caller): Result {
  const input = inputOf(params);
  params.done();
  const { fleetId, groups, errors } = twin.fleets.create(input, caller);
  return {
    fleetId,
    errorSet: items(errors.map((error) => errorXml(error, input.capacityType))),
    fleetInstanceSet: items(groups.map(launchedXml)),
  };
}

function fleetXml(fleet: Fleet): Xml {
  const fulfilled = fleet.result.groups.reduce((sum, group) => sum + group.instanceIds.length, 0);
  return {
    fleetId: fleet.id,
    fleetState: 'active',
    createTime: timeText(fleet.createdMs),
    type: 'instant',
    clientToken: fleet.input.clientToken,
    fulfilledCapacity: fulfilled,
    targetCapacitySpecification: {
      totalTargetCapacity: fleet.input.capacity,
      defaultTargetCapacityType: fleet.input.capacityType,
    },
    tagSet: tagItems(fleet.input.fleetTags),
    errorSet: items(fleet.result.errors.map((error) => errorXml(error, fleet.input.capacityType))),
    fleetInstanceSet: items(fleet.result.groups.map(groupXml)),
    context: fleet.input.context,
  };
}

/** EC2 describes instant fleets only when they are named. */
function describeFleets(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('FleetId');
  if (filtersOf(params).length > 0)
    throw new NotServedFault(
      'UnsupportedOperation',
      'Filters of DescribeFleets are not served here; give FleetIds',
    );
  const missing = ids.filter((id) => !twin.fleets.all().some((fleet) => fleet.id === id));
  if (missing.length > 0)
    throw new AwsFault(
      'InvalidFleetId.NotFound',
      `The fleet ID '${missing.join(', ')}' does not exist`,
    );
  const { page, nextToken } = pageOf(
    twin.fleets.all().filter((fleet) => ids.includes(fleet.id)),
    params,
    { min: 1, max: 1000 },
  );
  return { fleetSet: items(page.map(fleetXml)), nextToken };
}

/** Served as a dry run only, because the twin launches through fleets. */
function runInstances(twin: CloudTwin, params: Params, caller: Caller): Result {
  if (params.flag('DryRun') !== true)
    throw new NotServedFault(
      'UnsupportedOperation',
      'RunInstances is served with DryRun=true only; launch through CreateFleet',
    );
  params.integer('MinCount');
  params.integer('MaxCount');
  const tags = tagSpecifications(params);
  const market = params.at('InstanceMarketOptions').text('MarketType');
  const interfaces = params.list('NetworkInterface').map((one) => one.scalars());
  const [instanceType, imageId, subnetId] = [
    params.text('InstanceType'),
    params.text('ImageId'),
    params.text('SubnetId') ?? interfaces[0]?.['SubnetId'],
  ];
  const override = {
    ...(instanceType === undefined ? {} : { instanceType }),
    ...(imageId === undefined ? {} : { imageId }),
    ...(subnetId === undefined ? {} : { subnetId }),
  };
  return twin.fleets.dryRun(templateReference(params.at('LaunchTemplate')), override, {
    ...caller,
    capacityType: market ?? 'on-demand',
    instanceTags: tags.get('instance') ?? {},
    volumeTags: tags.get('volume') ?? {},
  });
}

/** The operations that launch. */
export const ec2Fleet: QueryOperations = {
  CreateFleet: { run: createFleet },
  DescribeFleets: { run: describeFleets },
  RunInstances: { run: runInstances },
};
