import type { TwinSubnet, TwinType } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import type { TwinImage } from './eks-images.js';
import type { FleetOverride } from './fleet-request.js';
import type { Iam, Profile } from './iam.js';
import type { Images } from './images.js';
import type { Template, TemplateContent, TemplateVersion } from './launch-templates.js';
import type { Network } from './network.js';

/** One pool that instances may come from, with everything that a launch there needs. */
export type Candidate = {
  readonly type: TwinType;
  readonly subnet: TwinSubnet;
  readonly image: TwinImage;
  readonly template: Template;
  readonly version: TemplateVersion;
  readonly override: FleetOverride;
  readonly securityGroupIds: readonly string[];
  readonly profile?: Profile;
};

/** User data of an instance is limited to 16 KiB before encoding. */
const userDataBytesMax = 16_384;

type LaunchDeps = {
  readonly types: ReadonlyMap<string, TwinType>;
  readonly network: Network;
  readonly images: Images;
  readonly iam: Iam;
};

const wireArch = (arch: 'amd64' | 'arm64'): string => (arch === 'amd64' ? 'x86_64' : 'arm64');

function typeOf(deps: LaunchDeps, name: string | undefined): TwinType {
  if (name === undefined)
    throw new AwsFault('MissingParameter', 'The request must contain the parameter InstanceType');
  const type = deps.types.get(name);
  if (type === undefined)
    throw new AwsFault('InvalidParameterValue', `Invalid value '${name}' for InstanceType.`);
  return type;
}

function subnetOf(deps: LaunchDeps, override: FleetOverride, content: TemplateContent): TwinSubnet {
  const id = override.subnetId ?? content.interfaces.find((one) => one.deviceIndex === 0)?.subnetId;
  if (id === undefined)
    throw new AwsFault(
      'VPCIdNotSpecified',
      'No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.',
    );
  const subnet = deps.network.subnet(id);
  if (subnet === undefined)
    throw new AwsFault('InvalidSubnetID.NotFound', `The subnet ID '${id}' does not exist`);
  if (override.zone !== undefined && override.zone !== subnet.zone) {
    throw new AwsFault(
      'InvalidParameterValue',
      `The subnet ${id} is in ${subnet.zone}, not in the requested Availability Zone ${override.zone}`,
    );
  }
  return subnet;
}

function imageOf(deps: LaunchDeps, id: string | undefined): TwinImage {
  if (id === undefined)
    throw new AwsFault('MissingParameter', 'The request must contain the parameter ImageId');
  const image = deps.images.get(id);
  if (image === undefined)
    throw new AwsFault('InvalidAMIID.NotFound', `The image id '[${id}]' does not exist`);
  return image;
}

function groupsOf(deps: LaunchDeps, content: TemplateContent): readonly string[] {
  if (content.interfaces.length > 0 && content.securityGroupIds.length > 0) {
    throw new AwsFault(
      'InvalidParameterCombination',
      'Network interfaces and an instance-level security groups may not be specified on the same request',
    );
  }
  const ids = [
    ...new Set([...content.securityGroupIds, ...content.interfaces.flatMap((one) => one.groups)]),
  ];
  const missing = ids.filter((id) => deps.network.securityGroup(id) === undefined);
  if (missing.length > 0)
    throw new AwsFault(
      'InvalidGroup.NotFound',
      `The security group '${missing.join(', ')}' does not exist`,
    );
  return ids;
}

function profileOf(deps: LaunchDeps, content: TemplateContent): Profile | undefined {
  const wanted = content.instanceProfile;
  if (wanted === undefined) return undefined;
  const profile = deps.iam.profileForLaunch(wanted);
  if (profile !== undefined) return profile;
  const [parameter, kind] = wanted.name === undefined ? ['arn', 'ARN'] : ['name', 'name'];
  throw new AwsFault(
    'InvalidParameterValue',
    `Value (${wanted.name ?? wanted.arn ?? ''}) for parameter iamInstanceProfile.${parameter} is invalid. Invalid IAM Instance Profile ${kind}`,
  );
}

function checkFit(type: TwinType, subnet: TwinSubnet, image: TwinImage): void {
  if (!type.zones.includes(subnet.zone)) {
    throw new AwsFault(
      'InvalidFleetConfiguration',
      `Your requested instance type (${type.facts.name}) is not supported in your requested Availability Zone (${subnet.zone}).`,
    );
  }
  if (type.facts.arch !== image.arch) {
    throw new AwsFault(
      'InvalidParameterValue',
      `The architecture '${wireArch(type.facts.arch)}' of the specified instance type does not match the architecture '${wireArch(image.arch)}' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.`,
    );
  }
}

/**
 * Everything that a launch through this override uses. Throws EC2's fault for an override that
 * cannot be launched at all.
 */
export function candidateOf(
  deps: LaunchDeps,
  template: Template,
  version: TemplateVersion,
  override: FleetOverride,
): Candidate {
  const { content } = version;
  const type = typeOf(deps, override.instanceType ?? content.instanceType);
  const subnet = subnetOf(deps, override, content);
  const image = imageOf(deps, override.imageId ?? content.imageId);
  checkFit(type, subnet, image);
  if (Buffer.from(content.userData ?? '', 'base64').length > userDataBytesMax)
    throw new AwsFault(
      'InvalidParameterValue',
      `User data is limited to ${userDataBytesMax} bytes`,
    );
  const profile = profileOf(deps, content);
  return {
    type,
    subnet,
    image,
    template,
    version,
    override,
    securityGroupIds: groupsOf(deps, content),
    ...(profile === undefined ? {} : { profile }),
  };
}
