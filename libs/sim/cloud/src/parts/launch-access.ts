import type { Account } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import { type AccessRequest, contextOf, type RequestFacts } from '../policy/evaluate.js';
import type { Candidate } from './candidates.js';
import type { FleetInput } from './fleet-request.js';
import type { Identities } from './identities.js';
import type { TemplateContent } from './launch-templates.js';
import type { Network } from './network.js';

type Tags = Readonly<Record<string, string>>;

/** The tags that a template gives to resources of a type. */
export const templateTags = (content: TemplateContent, resourceType: string): Tags =>
  Object.assign(
    {},
    ...content.tags.filter((one) => one.resourceType === resourceType).map((one) => one.tags),
  ) as Tags;

/** A launch, who asks for it, and what its evaluation looks up. */
export type LaunchAccess = {
  readonly account: Pick<Account, 'accountId' | 'region'>;
  readonly network: Network;
  readonly identities: Identities;
  /** Without an access key the call is in process, and everything is allowed. */
  readonly caller: { readonly accessKey?: string };
  readonly candidate: Candidate;
  readonly request: Pick<FleetInput, 'capacityType' | 'instanceTags' | 'volumeTags'>;
};

/** The resources that a launch makes, with the tags that it gives each of them. */
function madeBy({ candidate, request }: LaunchAccess): readonly (readonly [string, Tags])[] {
  const { content } = candidate.version;
  const ofTemplate = (type: string): Tags => templateTags(content, type);
  return [
    ['instance', { ...ofTemplate('instance'), ...request.instanceTags }],
    ['volume', { ...ofTemplate('volume'), ...request.volumeTags }],
    ['network-interface', ofTemplate('network-interface')],
    // CreateFleet's own tags do not reach Spot requests; only the template's do.
    ...(request.capacityType === 'spot'
      ? ([['spot-instances-request', ofTemplate('spot-instances-request')]] as const)
      : []),
  ];
}

/** The resources that a launch uses, with the tags that each has already. */
function usedBy({
  account,
  network,
  candidate,
}: LaunchAccess): readonly (readonly [string, Tags])[] {
  const { image, subnet, template, securityGroupIds } = candidate;
  // An image has no account in its ARN, and a foreign image's tags are not seen.
  const own = image.ownerId === account.accountId;
  return [
    [`image/${image.id}`, own ? image.tags : {}],
    [`subnet/${subnet.id}`, subnet.tags],
    ...securityGroupIds.map(
      (id) => [`security-group/${id}`, network.securityGroup(id)?.tags ?? {}] as const,
    ),
    [`launch-template/${template.id}`, template.tags],
  ];
}

/**
 * Everything that IAM is asked for one launch. It is asked for ec2:RunInstances on each resource
 * and ec2:CreateTags on what is tagged as it is made. It is also asked for iam:PassRole on the role
 * of the instance profile. From the service authorization reference of EC2 and "Grant permission to
 * tag resources on creation".
 */
function launchRequests(launch: LaunchAccess): readonly AccessRequest[] {
  const { accountId, region } = launch.account;
  const request = (action: string, resource: string, facts: Omit<RequestFacts, 'region'>) => ({
    action,
    resource,
    context: contextOf({ region, ...facts }),
  });
  const arn = (resource: string): string =>
    `arn:aws:ec2:${region}:${resource.startsWith('image/') ? '' : accountId}:${resource}`;
  const made = madeBy(launch);
  return [
    ...usedBy(launch).map(([resource, resourceTags]) =>
      request('ec2:RunInstances', arn(resource), { resourceTags }),
    ),
    ...made.map(([type, requestTags]) =>
      request('ec2:RunInstances', arn(`${type}/*`), { requestTags }),
    ),
    ...made
      .filter(([, tags]) => Object.keys(tags).length > 0)
      .map(([type, requestTags]) =>
        request('ec2:CreateTags', arn(`${type}/*`), { requestTags, createAction: 'RunInstances' }),
      ),
    ...(launch.candidate.profile?.roles ?? []).map((role) =>
      request('iam:PassRole', role.arn, { passedTo: 'ec2.amazonaws.com' }),
    ),
  ];
}

/**
 * Throws what EC2 answers to a launch that the caller has no right to. So it does if the template
 * tags Spot requests that an on-demand launch does not make. EC2's message for the latter is known
 * from its users. The code is assumed.
 */
export function checkLaunch(launch: LaunchAccess): void {
  const { identities, caller, candidate, request } = launch;
  const denial = identities.denial(caller.accessKey, 'ec2', () => launchRequests(launch));
  if (denial !== undefined) throw denial;
  const spotTags = templateTags(candidate.version.content, 'spot-instances-request');
  if (request.capacityType !== 'spot' && Object.keys(spotTags).length > 0)
    throw new AwsFault(
      'InvalidParameterValue',
      'You cannot specify tags for Spot instances requests if there are no Spot instances requests being created by the request.',
    );
}
