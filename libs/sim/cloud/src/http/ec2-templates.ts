import { AwsFault, missingParameter, NotServedFault } from '../foundation/aws-fault.js';
import { checkTags } from '../parts/fleet-request.js';
import {
  type Template,
  type TemplateContent,
  type TemplateReference,
  type TemplateVersion,
  versionOf,
} from '../parts/launch-templates.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params, tagsOf, tagSpecifications } from './params.js';
import { items, tagItems, timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

/** Reads `LaunchTemplateId`, `LaunchTemplateName` and `Version`; exactly one of the first two. */
export function templateReference(params: Params): TemplateReference {
  const [id, name, version] = [
    params.text('LaunchTemplateId'),
    params.text('LaunchTemplateName'),
    params.text('Version'),
  ];
  if (id === undefined && name === undefined)
    throw missingParameter('LaunchTemplateId or LaunchTemplateName');
  if (id !== undefined && name !== undefined)
    throw new AwsFault(
      'InvalidParameterCombination',
      'The request must contain either LaunchTemplateId or LaunchTemplateName, not both',
    );
  return {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(version === undefined ? {} : { version }),
  };
}

function interfaceOf(params: Params): TemplateContent['interfaces'][number] {
  const deviceIndex = params.integer('DeviceIndex') ?? 0;
  const associate = params.flag('AssociatePublicIpAddress');
  const subnetId = params.text('SubnetId');
  const groups = params.texts('SecurityGroupId');
  const known = /^(DeviceIndex|AssociatePublicIpAddress|SubnetId|SecurityGroupId\.)/;
  const other = Object.fromEntries(
    Object.entries(params.scalars()).filter(([name]) => !known.test(name)),
  );
  return {
    deviceIndex,
    groups,
    other,
    ...(associate === undefined ? {} : { associatePublicIpAddress: associate }),
    ...(subnetId === undefined ? {} : { subnetId }),
  };
}

function deviceOf(params: Params): TemplateContent['blockDevices'][number] {
  const virtualName = params.text('VirtualName');
  const ebs = params.at('Ebs');
  return {
    deviceName: params.required('DeviceName'),
    ...(virtualName === undefined ? {} : { virtualName }),
    ...(ebs.isEmpty() ? {} : { ebs: ebs.scalars() }),
  };
}

function profileOf(params: Params): NonNullable<TemplateContent['instanceProfile']> | undefined {
  if (params.isEmpty()) return undefined;
  const [name, arn] = [params.text('Name'), params.text('Arn')];
  return { ...(name === undefined ? {} : { name }), ...(arn === undefined ? {} : { arn }) };
}

/** Other members of a placement stay unread, and so are refused. */
function tenancyOf(params: Params): TemplateContent['tenancy'] {
  const tenancy = params.text('Tenancy');
  if (tenancy === undefined || tenancy === 'default' || tenancy === 'dedicated') return tenancy;
  throw new NotServedFault(
    'InvalidParameterValue',
    `Placement.Tenancy ${tenancy} is not served here; use default or dedicated`,
  );
}

/** The members that the twin keeps as they are, and the values that it can launch. */
const launchable: Readonly<Record<string, RegExp>> = {
  EnclaveOptions: /^Enabled=(true|false)$/,
  CapacityReservationSpecification: /^CapacityReservationPreference=(none|open)$/,
};

/**
 * Members that change nothing that the twin shows: it has no capacity reservations and no enclaves.
 * Throws AwsFault for a reservation.
 */
function keptMembers(params: Params): TemplateContent['kept'] {
  return Object.fromEntries(
    Object.entries(launchable).flatMap(([name, values]) => {
      const member = params.at(name).scalars();
      const other = Object.entries(member).find(([key, value]) => !values.test(`${key}=${value}`));
      if (other !== undefined)
        throw new NotServedFault(
          'InvalidParameterValue',
          `${name}.${other[0]} ${other[1]} is not served here`,
        );
      return Object.keys(member).length === 0 ? [] : [[name, member]];
    }),
  );
}

/** Launch template data as the twin keeps it. Unknown members are refused as unknown parameters. */
function contentOf(params: Params): TemplateContent {
  if (params.isEmpty()) throw missingParameter('LaunchTemplateData');
  const known = {
    imageId: params.text('ImageId'),
    instanceType: params.text('InstanceType'),
    userData: params.text('UserData'),
    monitoring: params.at('Monitoring').flag('Enabled'),
    ebsOptimized: params.flag('EbsOptimized'),
    instanceProfile: profileOf(params.at('IamInstanceProfile')),
    tenancy: tenancyOf(params.at('Placement')),
  };
  return {
    ...(Object.fromEntries(
      Object.entries(known).filter(([, value]) => value !== undefined),
    ) as Partial<TemplateContent>),
    securityGroupIds: params.texts('SecurityGroupId'),
    interfaces: params.list('NetworkInterface').map(interfaceOf),
    blockDevices: params.list('BlockDeviceMapping').map(deviceOf),
    metadataOptions: params.at('MetadataOptions').scalars(),
    kept: keptMembers(params),
    tags: params
      .list('TagSpecification')
      .map((one) => ({
        resourceType: one.required('ResourceType'),
        tags: tagsOf(one.list('Tag')),
      })),
  };
}

/** Wire names in answers begin with a small letter. */
const lowered = (values: Readonly<Record<string, string>>): { readonly [name: string]: Xml } =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name.charAt(0).toLowerCase() + name.slice(1),
      value,
    ]),
  );

/** Members without values are left out. */
const optional = (values: Readonly<Record<string, string>>): Xml =>
  Object.keys(values).length === 0 ? undefined : lowered(values);

const interfaceXml = (one: TemplateContent['interfaces'][number]): Xml => ({
  deviceIndex: one.deviceIndex,
  associatePublicIpAddress: one.associatePublicIpAddress,
  subnetId: one.subnetId,
  groupSet: { groupId: one.groups },
  ...lowered(Object.fromEntries(Object.entries(one.other).filter(([name]) => !name.includes('.')))),
});

function contentXml(content: TemplateContent): Xml {
  return {
    imageId: content.imageId,
    instanceType: content.instanceType,
    userData: content.userData,
    ebsOptimized: content.ebsOptimized,
    iamInstanceProfile: content.instanceProfile,
    monitoring: content.monitoring === undefined ? undefined : { enabled: content.monitoring },
    securityGroupIdSet: items(content.securityGroupIds),
    metadataOptions: optional(content.metadataOptions),
    placement: content.tenancy === undefined ? undefined : { tenancy: content.tenancy },
    ...Object.fromEntries(
      Object.entries(content.kept).map(([name, member]) => [
        name.charAt(0).toLowerCase() + name.slice(1),
        lowered(member),
      ]),
    ),
    blockDeviceMappingSet: items(
      content.blockDevices.map(({ deviceName, virtualName, ebs }) => ({
        deviceName,
        virtualName,
        ebs: ebs === undefined ? undefined : lowered(ebs),
      })),
    ),
    networkInterfaceSet: items(content.interfaces.map(interfaceXml)),
    tagSpecificationSet: items(
      content.tags.map(({ resourceType, tags }) => ({ resourceType, tagSet: tagItems(tags) })),
    ),
  };
}

const templateXml = (twin: CloudTwin, template: Template): Xml => ({
  launchTemplateId: template.id,
  launchTemplateName: template.name,
  createTime: timeText(template.createdMs),
  createdBy: `arn:aws:iam::${twin.account.accountId}:root`,
  defaultVersionNumber: template.defaultVersion,
  latestVersionNumber: template.versions.at(-1)?.number,
  tagSet: tagItems(template.tags),
});

const versionXml = (twin: CloudTwin, template: Template, version: TemplateVersion): Xml => ({
  launchTemplateId: template.id,
  launchTemplateName: template.name,
  versionNumber: version.number,
  versionDescription: version.description,
  createTime: timeText(version.createdMs),
  createdBy: `arn:aws:iam::${twin.account.accountId}:root`,
  defaultVersion: version.number === template.defaultVersion,
  launchTemplateData: contentXml(version.content),
});

function createTemplate(twin: CloudTwin, params: Params): Result {
  const tags = tagSpecifications(params).get('launch-template') ?? {};
  checkTags(tags);
  // Templates are identified by name and a repeated name is refused, so the token adds nothing.
  params.text('ClientToken');
  const description = params.text('VersionDescription');
  const order = {
    name: params.required('LaunchTemplateName'),
    content: contentOf(params.at('LaunchTemplateData')),
    tags,
    ...(description === undefined ? {} : { description }),
  };
  params.done();
  const template = twin.templates.create(order);
  return { launchTemplate: templateXml(twin, template) };
}

function describeTemplates(twin: CloudTwin, params: Params): Result {
  const found = twin.templates.describe({
    ids: params.texts('LaunchTemplateId'),
    names: params.texts('LaunchTemplateName'),
    filters: filtersOf(params),
  });
  const { page, nextToken } = pageOf(found, params, { min: 1, max: 200, default: 200 });
  return { launchTemplates: items(page.map((template) => templateXml(twin, template))), nextToken };
}

function deleteTemplate(twin: CloudTwin, params: Params): Result {
  const reference = templateReference(params);
  params.done();
  return { launchTemplate: templateXml(twin, twin.templates.delete(reference)) };
}

function describeVersions(twin: CloudTwin, params: Params): Result {
  const template = twin.templates.get(templateReference(params));
  const wanted = params.texts('LaunchTemplateVersion');
  const versions =
    wanted.length === 0 ? template.versions : wanted.map((one) => versionOf(template, one));
  const { page, nextToken } = pageOf(versions, params, { min: 1, max: 200, default: 200 });
  return {
    launchTemplateVersionSet: items(page.map((version) => versionXml(twin, template, version))),
    nextToken,
  };
}

function deleteVersions(twin: CloudTwin, params: Params): Result {
  const [reference, numbers] = [
    templateReference(params),
    params.texts('LaunchTemplateVersion').map(Number),
  ];
  params.done();
  const { template, deleted, missing } = twin.templates.deleteVersions(reference, numbers);
  const named = { launchTemplateId: template.id, launchTemplateName: template.name };
  return {
    successfullyDeletedLaunchTemplateVersionSet: items(
      deleted.map((versionNumber) => ({ ...named, versionNumber })),
    ),
    unsuccessfullyDeletedLaunchTemplateVersionSet: items(
      missing.map((versionNumber) => ({
        ...named,
        versionNumber,
        responseError: {
          code: 'launchTemplateVersionDoesNotExist',
          message: `Could not find version ${versionNumber}`,
        },
      })),
    ),
  };
}

function createVersion(twin: CloudTwin, params: Params): Result {
  params.text('ClientToken');
  const [reference, content, description] = [
    templateReference(params),
    contentOf(params.at('LaunchTemplateData')),
    params.text('VersionDescription'),
  ];
  params.done();
  const { template, version } = twin.templates.createVersion(reference, content, description);
  return { launchTemplateVersion: versionXml(twin, template, version) };
}

/** Launch templates and their versions. */
export const ec2Templates: QueryOperations = {
  CreateLaunchTemplate: { run: createTemplate },
  CreateLaunchTemplateVersion: { run: createVersion },
  DescribeLaunchTemplates: { run: describeTemplates },
  DescribeLaunchTemplateVersions: { run: describeVersions },
  DeleteLaunchTemplate: { run: deleteTemplate },
  DeleteLaunchTemplateVersions: { run: deleteVersions },
};
