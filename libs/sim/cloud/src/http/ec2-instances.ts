import type { Ec2Filter } from '@dovetail/core-ports';

import { AwsFault, missingParameter } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { admitted, type FilterValues } from '../foundation/filters.js';
import { type InstanceState, type StateChange, stateCodes } from '../parts/instances.js';
import { volumesOf } from '../parts/volumes.js';
import type { CloudTwin, TwinInstance } from '../twin/cloud-twin.js';
import type { QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params, tagsOf } from './params.js';
import { items, tagItems, timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

const stateXml = (state: InstanceState): Xml => ({ code: stateCodes[state], name: state });

function checkPaging(params: Params, ids: readonly string[]): void {
  if (ids.length > 0 && params.integer('MaxResults') !== undefined) {
    throw new AwsFault(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  }
}

function groupsXml(twin: CloudTwin, instance: TwinInstance): Xml {
  return items(
    instance.securityGroupIds.map((groupId) => ({
      groupId,
      groupName: twin.network.securityGroup(groupId)?.name,
    })),
  );
}

/** A terminated instance has lost its addresses, its subnet and its VPC. */
function placeXml(twin: CloudTwin, instance: TwinInstance): { readonly [element: string]: Xml } {
  if (instance.state === 'terminated') return { privateDnsName: '', dnsName: '' };
  const { subnetId, privateDnsName, address } = instance;
  return {
    subnetId,
    vpcId: twin.account.vpcId,
    privateDnsName,
    privateIpAddress: address.ip,
    dnsName: '',
    groupSet: groupsXml(twin, instance),
    networkInterfaceSet: items([
      {
        networkInterfaceId: `eni-${hexOf(17, instance.id, 'eni')}`,
        subnetId,
        vpcId: twin.account.vpcId,
        ownerId: twin.account.accountId,
        status: 'in-use',
        privateIpAddress: address.ip,
        privateDnsName,
        groupSet: groupsXml(twin, instance),
        attachment: {
          attachmentId: `eni-attach-${hexOf(17, instance.id, 'attach')}`,
          deviceIndex: 0,
          status: 'attached',
          deleteOnTermination: true,
          networkCardIndex: 0,
        },
        interfaceType: 'interface',
      },
    ]),
  };
}

function metadataXml(options: Readonly<Record<string, string>>): Xml {
  return {
    state: 'applied',
    ...Object.fromEntries(
      Object.entries(options).map(([name, value]) => [
        name.charAt(0).toLowerCase() + name.slice(1),
        value,
      ]),
    ),
  };
}

/** The parts that all instances of the twin have in common. */
const commonXml: { readonly [element: string]: Xml } = {
  amiLaunchIndex: 0,
  rootDeviceType: 'ebs',
  rootDeviceName: '/dev/xvda',
  virtualizationType: 'hvm',
  hypervisor: 'xen',
  ebsOptimized: false,
  enaSupport: true,
  sourceDestCheck: true,
  platformDetails: 'Linux/UNIX',
};

/** How the instance was bought, what it may do, and why it ended. */
function lifeXml(twin: CloudTwin, instance: TwinInstance): { readonly [element: string]: Xml } {
  const { profileArn, stateReason } = instance;
  const now = timeText(twin.timeline.nowMs()).slice(0, 19).replace('T', ' ');
  return {
    instanceLifecycle: instance.capacityType === 'spot' ? 'spot' : undefined,
    spotInstanceRequestId: instance.spotRequestId,
    iamInstanceProfile:
      profileArn === undefined
        ? undefined
        : { arn: profileArn, id: `AIPA${hexOf(17, profileArn).toUpperCase()}` },
    reason: stateReason === undefined ? '' : `User initiated (${now} GMT)`,
    stateReason,
  };
}

const devicesXml = (instance: TwinInstance): Xml =>
  items(
    volumesOf(instance).map(({ id, device, deleteOnTermination }) => ({
      deviceName: device,
      ebs: {
        volumeId: id,
        status: 'attached',
        attachTime: timeText(instance.launchedMs),
        deleteOnTermination,
      },
    })),
  );

function instanceXml(twin: CloudTwin, instance: TwinInstance): Xml {
  const subnet = twin.account.subnets.find(({ zone }) => zone === instance.zone);
  return {
    instanceId: instance.id,
    imageId: instance.imageId,
    instanceState: stateXml(instance.state),
    instanceType: instance.instanceType,
    launchTime: timeText(instance.launchedMs),
    ...placeXml(twin, instance),
    clientToken: instance.clientToken,
    architecture: instance.arch === 'amd64' ? 'x86_64' : 'arm64',
    placement: {
      availabilityZone: instance.zone,
      availabilityZoneId: subnet?.zoneId,
      groupName: '',
      tenancy: instance.tenancy,
    },
    monitoring: { state: instance.monitoring ? 'enabled' : 'disabled' },
    ...lifeXml(twin, instance),
    ...commonXml,
    blockDeviceMapping: devicesXml(instance),
    metadataOptions: metadataXml(instance.metadataOptions),
    tagSet: tagItems(instance.tags),
  };
}

function describeInstances(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('InstanceId');
  checkPaging(params, ids);
  params.flag('IncludeManagedResources');
  const { page, nextToken } = pageOf(
    twin.instances.describe({ ids, filters: filtersOf(params) }),
    params,
    { min: 5, max: 1000, default: 1000 },
  );
  return {
    reservationSet: items(
      page.map((instance) => ({
        reservationId: `r-${hexOf(17, instance.id, 'reservation')}`,
        ownerId: twin.account.accountId,
        instancesSet: items([instanceXml(twin, instance)]),
      })),
    ),
    nextToken,
  };
}

const statusFilters: ReadonlySet<string> = new Set([
  'availability-zone',
  'event.code',
  'instance-state-code',
  'instance-state-name',
  'instance-status.status',
  'instance-status.reachability',
  'system-status.status',
  'system-status.reachability',
]);
const reachability = (status: string): string =>
  status === 'impaired' ? 'failed' : status === 'ok' ? 'passed' : status;

function statusValues(instance: TwinInstance): FilterValues {
  return (name) => {
    switch (name) {
      case 'availability-zone':
        return [instance.zone];
      case 'event.code':
        return instance.scheduledEvents.map(({ code }) => code);
      case 'instance-state-code':
        return [String(stateCodes[instance.state])];
      case 'instance-state-name':
        return [instance.state];
      case 'instance-status.status':
        return [instance.health.instance];
      case 'instance-status.reachability':
        return [reachability(instance.health.instance)];
      case 'system-status.status':
        return [instance.health.system];
      case 'system-status.reachability':
        return [reachability(instance.health.system)];
      default:
        return undefined;
    }
  };
}

const summaryXml = (status: string, sinceMs: number): Xml => ({
  status,
  details: items([
    {
      name: 'reachability',
      status: reachability(status),
      impairedSince: status === 'impaired' ? timeText(sinceMs) : undefined,
    },
  ]),
});

const statusXml = (instance: TwinInstance): Xml => ({
  instanceId: instance.id,
  availabilityZone: instance.zone,
  instanceState: stateXml(instance.state),
  systemStatus: summaryXml(instance.health.system, instance.health.sinceMs),
  instanceStatus: summaryXml(instance.health.instance, instance.health.sinceMs),
  eventsSet: items(
    instance.scheduledEvents.map(({ id, code, notBeforeMs }) => ({
      instanceEventId: id,
      code,
      description: `The instance is scheduled for ${code}`,
      notBefore: timeText(notBeforeMs),
    })),
  ),
});

/** Only running instances, unless all are asked for. */
function describeStatus(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('InstanceId');
  checkPaging(params, ids);
  const everything = params.flag('IncludeAllInstances') ?? false;
  const states: readonly Ec2Filter[] = everything
    ? []
    : [{ name: 'instance-state-name', values: ['running'] }];
  const found = admitted(
    twin.instances.describe({ ids, filters: states }),
    filtersOf(params),
    statusValues,
    statusFilters,
  );
  const { page, nextToken } = pageOf(found, params, { min: 5, max: 1000, default: 1000 });
  return { instanceStatusSet: items(page.map(statusXml)), nextToken };
}

const changesXml = (changes: readonly StateChange[]): Result => ({
  instancesSet: items(
    changes.map(({ id, previous, current }) => ({
      instanceId: id,
      currentState: stateXml(current),
      previousState: stateXml(previous),
    })),
  ),
});

function terminateInstances(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('InstanceId');
  if (ids.length === 0) throw missingParameter('InstanceId');
  params.done();
  return changesXml(twin.instances.terminate(ids));
}

/** Stops all of them, or none if one cannot be stopped. */
function stopInstances(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('InstanceId');
  if (ids.length === 0) throw missingParameter('InstanceId');
  params.flag('Force');
  params.done();
  const found = twin.instances.describe({ ids, filters: [] });
  const spot = found.find(({ capacityType }) => capacityType === 'spot');
  if (spot !== undefined)
    throw new AwsFault(
      'UnsupportedOperation',
      `You can't stop the Spot Instance '${spot.id}' because it is associated with a one-time Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance requests.`,
    );
  const ended = found.find(({ state }) => state === 'shutting-down' || state === 'terminated');
  if (ended !== undefined)
    throw new AwsFault(
      'IncorrectInstanceState',
      `This instance '${ended.id}' is not in a state from which it can be stopped.`,
    );
  return changesXml(found.map(({ id }) => twin.instances.stop(id)));
}

function createTags(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('ResourceId');
  if (ids.length === 0) throw missingParameter('ResourceId');
  const tags = tagsOf(params.list('Tag'));
  if (Object.keys(tags).length === 0) throw missingParameter('Tag');
  params.done();
  twin.tag(ids, tags);
  return { return: true };
}

/** A tag without a value goes whatever its value is. */
function deleteTags(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('ResourceId');
  if (ids.length === 0) throw missingParameter('ResourceId');
  const tags = params.list('Tag').map((tag) => {
    const [key, value] = [tag.required('Key'), tag.text('Value')];
    return value === undefined ? { key } : { key, value };
  });
  params.done();
  twin.untag(ids, tags.length === 0 ? undefined : tags);
  return { return: true };
}

/** Instances and their tags. */
export const ec2Instances: QueryOperations = {
  DescribeInstances: { run: describeInstances },
  DescribeInstanceStatus: { run: describeStatus },
  TerminateInstances: {
    run: terminateInstances,
    resources: (params) => params.texts('InstanceId').length,
  },
  StopInstances: { run: stopInstances },
  CreateTags: { run: createTags },
  DeleteTags: { run: deleteTags },
};
