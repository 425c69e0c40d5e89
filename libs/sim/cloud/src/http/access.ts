import { lookUp } from '@dovetail/core-invariant';

import { AwsFault } from '../foundation/aws-fault.js';
import { findVolume } from '../parts/volumes.js';
import { type AccessRequest, contextOf, type RequestFacts } from '../policy/evaluate.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { type Params, tagsOf, tagSpecifications } from './params.js';

type Tags = Readonly<Record<string, string>>;
type Reader<Input> = (twin: CloudTwin, input: Input, action: string) => readonly AccessRequest[];

const request = (
  { account }: CloudTwin,
  action: string,
  resource: string,
  facts: Omit<RequestFacts, 'region'> = {},
): AccessRequest => ({
  action,
  resource,
  context: contextOf({
    // IAM has one endpoint for all regions, and its requests count as us-east-1's.
    region: action.startsWith('iam:') ? 'us-east-1' : account.region,
    ...facts,
  }),
});

const arn = ({ account }: CloudTwin, resource: string): string =>
  `arn:aws:ec2:${account.region}:${account.accountId}:${resource}`;

/** Actions that know no resources. */
const everything: Reader<unknown> = (twin, _input, action) => [request(twin, action, '*')];

const kindsById: readonly (readonly [prefix: string, kind: string])[] = [
  ['i-', 'instance'],
  ['lt-', 'launch-template'],
  ['subnet-', 'subnet'],
  ['sg-', 'security-group'],
  ['fleet-', 'fleet'],
  ['vol-', 'volume'],
];

/** The tags of a resource by its id; undefined if there is none. */
function resourceTags(twin: CloudTwin, id: string): Tags | undefined {
  try {
    if (id.startsWith('i-')) return twin.instances.get(id).tags;
    if (id.startsWith('vol-')) return findVolume(twin.instances, id)?.tags;
    if (id.startsWith('lt-')) return twin.templates.get({ id }).tags;
  } catch (error) {
    if (error instanceof AwsFault) return undefined;
    throw error;
  }
  return twin.network.subnet(id)?.tags ?? twin.network.securityGroup(id)?.tags;
}

/** IAM is not asked about a resource that is missing: the operation says that it does not exist. */
function onExisting(
  twin: CloudTwin,
  action: string,
  ids: readonly string[],
  requestTags: Tags = {},
): readonly AccessRequest[] {
  return ids.flatMap((id) => {
    const kind = kindsById.find(([prefix]) => id.startsWith(prefix))?.[1];
    const tags = resourceTags(twin, id);
    return kind === undefined || tags === undefined
      ? []
      : [request(twin, action, arn(twin, `${kind}/${id}`), { resourceTags: tags, requestTags })];
  });
}

/** A resource that a call makes, and CreateTags on it if the call tags it. */
function onNew(
  twin: CloudTwin,
  action: string,
  kind: string,
  requestTags: Tags,
): readonly AccessRequest[] {
  const resource = arn(twin, `${kind}/*`);
  const made = request(twin, action, resource, { requestTags });
  if (Object.keys(requestTags).length === 0) return [made];
  const createAction = action.slice(action.indexOf(':') + 1);
  return [made, request(twin, 'ec2:CreateTags', resource, { requestTags, createAction })];
}

/** The id of the template that a call names by id or name; none if there is no such template. */
function templateIds(twin: CloudTwin, params: Params): readonly string[] {
  const [id, name] = [params.text('LaunchTemplateId'), params.text('LaunchTemplateName')];
  const found = twin.templates
    .describe({ filters: [] })
    .find((template) => template.id === id || template.name === name);
  return found === undefined ? [] : [found.id];
}

const onTemplate: Reader<Params> = (twin, params, action) =>
  onExisting(twin, action, templateIds(twin, params));
const onInstances: Reader<Params> = (twin, params, action) =>
  onExisting(twin, action, params.texts('InstanceId'));

const profileArn = ({ account }: CloudTwin, path: string, name: string): string =>
  `arn:aws:iam::${account.accountId}:instance-profile${path}${name}`;

const onProfile: Reader<Params> = (twin, params, action) => {
  const name = params.text('InstanceProfileName') ?? '';
  const found = twin.iam.profiles().find((profile) => profile.name === name);
  return [
    request(twin, action, found?.arn ?? profileArn(twin, '/', name), {
      resourceTags: found?.tags ?? {},
      requestTags: tagsOf(params.at('Tags').list('member')),
    }),
  ];
};

/** CreateInstanceProfile, and the right to tag if it tags. */
const onNewProfile: Reader<Params> = (twin, params, action) => {
  const resource = profileArn(
    twin,
    params.text('Path') ?? '/',
    params.text('InstanceProfileName') ?? '',
  );
  const requestTags = tagsOf(params.at('Tags').list('member'));
  const actions =
    Object.keys(requestTags).length === 0 ? [action] : [action, 'iam:TagInstanceProfile'];
  return actions.map((one) => request(twin, one, resource, { requestTags }));
};

const roleArn = ({ account }: CloudTwin, name: string): string =>
  `arn:aws:iam::${account.accountId}:role/${name}`;

const query: Readonly<Record<string, Reader<Params>>> = {
  // The launches of a fleet are asked for one by one, because each override fails by itself.
  'ec2:CreateFleet': (twin, params, action) => [
    ...onNew(twin, action, 'fleet', tagSpecifications(params).get('fleet') ?? {}),
    ...params
      .list('LaunchTemplateConfigs')
      .flatMap((config) => onTemplate(twin, config.at('LaunchTemplateSpecification'), action)),
  ],
  'ec2:RunInstances': () => [],
  'ec2:CreateLaunchTemplate': (twin, params, action) =>
    onNew(twin, action, 'launch-template', tagSpecifications(params).get('launch-template') ?? {}),
  'ec2:CreateLaunchTemplateVersion': onTemplate,
  'ec2:DeleteLaunchTemplate': onTemplate,
  'ec2:DeleteLaunchTemplateVersions': onTemplate,
  'ec2:TerminateInstances': onInstances,
  'ec2:StopInstances': onInstances,
  'ec2:DeleteTags': (twin, params, action) =>
    onExisting(twin, action, params.texts('ResourceId'), tagsOf(params.list('Tag'))),
  'ec2:CreateTags': (twin, params, action) =>
    onExisting(twin, action, params.texts('ResourceId'), tagsOf(params.list('Tag'))),
  'iam:GetRole': (twin, params, action) => [
    request(twin, action, roleArn(twin, params.text('RoleName') ?? '')),
  ],
  'iam:GetInstanceProfile': onProfile,
  'iam:CreateInstanceProfile': onNewProfile,
  // A role that is put into a profile is passed to EC2.
  'iam:AddRoleToInstanceProfile': (twin, params, action) => [
    ...onProfile(twin, params, action),
    request(twin, 'iam:PassRole', roleArn(twin, params.text('RoleName') ?? ''), {
      passedTo: 'ec2.amazonaws.com',
    }),
  ],
  'iam:RemoveRoleFromInstanceProfile': onProfile,
  'iam:DeleteInstanceProfile': onProfile,
  'iam:TagInstanceProfile': onProfile,
  'iam:ListInstanceProfiles': (twin, _params, action) => [
    request(twin, action, profileArn(twin, '/', '*')),
  ],
  'sts:AssumeRole': (twin, params, action) => [
    request(twin, action, params.text('RoleArn') ?? '*'),
  ],
  // STS answers it to every identity, whatever its policies are.
  'sts:GetCallerIdentity': () => [],
};

/** The requests that IAM decides for a call of the query protocol. */
export function queryAccess(
  twin: CloudTwin,
  action: string,
  params: Params,
): readonly AccessRequest[] {
  const reader = lookUp(query, action);
  if (reader !== undefined) return reader(twin, params, action);
  if (/^ec2:Describe/.test(action)) return everything(twin, params, action);
  throw new AwsFault(
    'InternalError',
    `the twin does not know which resources ${action} is for`,
    500,
  );
}

const queueArn = ({ account }: CloudTwin, name: string): string =>
  `arn:aws:sqs:${account.region}:${account.accountId}:${name}`;

/** The requests that IAM decides for a call of the JSON protocols or of EKS. */
export function jsonAccess(
  twin: CloudTwin,
  action: string,
  input: Readonly<Record<string, unknown>>,
): readonly AccessRequest[] {
  const text = (name: string): string => {
    const value = lookUp(input, name);
    return typeof value === 'string' ? value : '';
  };
  const { region, accountId } = twin.account;
  if (action === 'sqs:GetQueueUrl' || action === 'sqs:CreateQueue')
    return [request(twin, action, queueArn(twin, text('QueueName')))];
  // A batch needs the right of its single action: IAM knows no sqs:DeleteMessageBatch.
  if (action.startsWith('sqs:'))
    return [
      request(
        twin,
        action.replace(/Batch$/, ''),
        queueArn(twin, text('QueueUrl').split('/').at(-1) ?? ''),
      ),
    ];
  if (action.startsWith('ssm:')) {
    const name = text('Name')
      .replace(/^arn:aws:ssm:[^:]*:\d*:parameter/, '')
      .replace(/^\//, '');
    const owner = name.startsWith('aws/service/') ? '' : accountId;
    return [request(twin, action, `arn:aws:ssm:${region}:${owner}:parameter/${name}`)];
  }
  if (action.startsWith('eks:'))
    return [request(twin, action, `arn:aws:eks:${region}:${accountId}:cluster/${text('name')}`)];
  return everything(twin, input, action);
}
