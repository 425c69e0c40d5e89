import type {
  FleetOutcome,
  FleetRequest,
  Fleets,
  LaunchTemplates,
  LaunchTemplateSpec,
} from '@dovetail/core-ports';

import type { FleetInput } from '../parts/fleet-request.js';
import type { FleetResult } from '../parts/fleets.js';
import type { TemplateContent } from '../parts/launch-templates.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { type Run, unless } from './runner.js';

const contentOf = (spec: LaunchTemplateSpec): TemplateContent => ({
  imageId: spec.imageId,
  userData: spec.userDataBase64,
  monitoring: spec.detailedMonitoring,
  ...(spec.instanceProfileName === undefined
    ? {}
    : { instanceProfile: { name: spec.instanceProfileName } }),
  // An address setting belongs to a network interface, and then the groups do too.
  securityGroupIds: spec.associatePublicIpAddress === undefined ? spec.securityGroupIds : [],
  interfaces:
    spec.associatePublicIpAddress === undefined
      ? []
      : [
          {
            deviceIndex: 0,
            associatePublicIpAddress: spec.associatePublicIpAddress,
            groups: spec.securityGroupIds,
            other: {},
          },
        ],
  blockDevices: spec.blockDevices.map(({ deviceName, ebs }) => ({
    deviceName,
    ...(ebs === undefined ? {} : { ebs: stringsOf(ebs) }),
  })),
  metadataOptions: stringsOf(spec.metadataOptions),
  ...(spec.tenancy === undefined ? {} : { tenancy: spec.tenancy }),
  kept: {},
  tags: [],
});

const stringsOf = (
  values: Readonly<Record<string, string | number | boolean>>,
): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));

const inputOf = (request: FleetRequest): FleetInput => ({
  type: 'instant',
  clientToken: request.clientToken,
  capacityType: request.capacityType,
  capacity: request.count,
  spotStrategy: request.capacityType === 'spot' ? request.allocation : 'lowest-price',
  onDemandStrategy: 'lowest-price',
  configs: request.configs.map(({ launchTemplateName, overrides }) => ({
    template: { name: launchTemplateName, version: '$Latest' },
    overrides,
  })),
  instanceTags: request.tags,
  fleetTags: request.tags,
  volumeTags: request.tags,
  ...(request.context === undefined ? {} : { context: request.context }),
});

const outcomeOf = (result: FleetResult): FleetOutcome => ({
  fleetId: result.fleetId,
  instances: result.groups.flatMap(({ instanceIds, instanceType, zone, lifecycle }) =>
    instanceIds.map((id) => ({ id, instanceType, zone, capacityType: lifecycle })),
  ),
  errors: result.errors.map(({ code, message, override }) => ({
    awsCode: code,
    message,
    ...(override.instanceType === undefined ? {} : { instanceType: override.instanceType }),
    ...(override.zone === undefined ? {} : { zone: override.zone }),
    ...(override.subnetId === undefined ? {} : { subnetId: override.subnetId }),
  })),
});

/** Launch templates and fleets. */
export function launchesOf(twin: CloudTwin, run: Run): LaunchTemplates & Fleets {
  return {
    ensureLaunchTemplate: (spec) =>
      run('ec2:CreateLaunchTemplate', () =>
        unless('InvalidLaunchTemplateName.AlreadyExistsException', () =>
          twin.templates.create({ name: spec.name, content: contentOf(spec), tags: spec.tags }),
        ),
      ),
    launchTemplates: ({ key, value }) =>
      run('ec2:DescribeLaunchTemplates', () =>
        twin.templates
          .describe({ filters: [{ name: `tag:${key}`, values: [value] }] })
          .map(({ name, createdMs, tags }) => ({ name, createdMs, tags })),
      ),
    deleteLaunchTemplate: (name) =>
      run('ec2:DeleteLaunchTemplate', () => {
        unless('InvalidLaunchTemplateName.NotFoundException', () =>
          twin.templates.delete({ name }),
        );
      }),
    createFleet: (request) =>
      run('ec2:CreateFleet', () => outcomeOf(twin.fleets.create(inputOf(request)))),
  };
}
