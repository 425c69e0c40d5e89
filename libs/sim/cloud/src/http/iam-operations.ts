import { checkTags } from '../parts/fleet-request.js';
import type { Profile, Role } from '../parts/iam.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { QueryOperation, QueryOperations } from './operation.js';
import { offsetOf, slice } from './paging.js';
import { type Params, tagsOf } from './params.js';
import { timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

const member = (list: readonly Xml[]): Xml => ({ member: list });
const tagsXml = (tags: Readonly<Record<string, string>>): Xml =>
  member(Object.entries(tags).map(([Key, Value]) => ({ Key, Value })));
const assumedByEc2 = encodeURIComponent(
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' },
    ],
  }),
);

const roleXml = (role: Role): Xml => ({
  Path: role.path,
  RoleName: role.name,
  RoleId: role.id,
  Arn: role.arn,
  CreateDate: timeText(role.createdMs),
  AssumeRolePolicyDocument: assumedByEc2,
});
const profileXml = (profile: Profile): Xml => ({
  Path: profile.path,
  InstanceProfileName: profile.name,
  InstanceProfileId: profile.id,
  Arn: profile.arn,
  CreateDate: timeText(profile.createdMs),
  Roles: member(profile.roles.map(roleXml)),
  Tags: tagsXml(profile.tags),
});

const name = (params: Params): string => params.required('InstanceProfileName');

function createProfile(twin: CloudTwin, params: Params): Result {
  const tags = tagsOf(params.at('Tags').list('member'));
  checkTags(tags);
  const order = { name: name(params), path: params.text('Path') ?? '/', tags };
  params.done();
  return { InstanceProfile: profileXml(twin.iam.createProfile(order)) };
}

function listProfiles(twin: CloudTwin, params: Params): Result {
  const { page, nextToken } = slice(
    twin.iam.profiles(params.text('PathPrefix')),
    offsetOf(params.text('Marker')),
    Math.min(params.integer('MaxItems') ?? 100, 1000),
  );
  return {
    InstanceProfiles: member(page.map(profileXml)),
    IsTruncated: nextToken !== undefined,
    Marker: nextToken,
  };
}

function tagProfile(twin: CloudTwin, params: Params): Result {
  const tags = tagsOf(params.at('Tags').list('member'));
  checkTags(tags);
  const profileName = name(params);
  params.done();
  twin.iam.tagProfile(profileName, tags);
  return {};
}

/** An operation without a result: it reads its parameters, then acts. */
const effect = (prepare: (twin: CloudTwin, params: Params) => () => void): QueryOperation => ({
  run(twin, params) {
    const act = prepare(twin, params);
    params.done();
    act();
    return {};
  },
});

/** IAM, as far as instance profiles need it. */
export const iamOperations: QueryOperations = {
  GetRole: {
    run: (twin, params) => ({ Role: roleXml(twin.iam.role(params.required('RoleName'))) }),
  },
  GetInstanceProfile: {
    run: (twin, params) => ({ InstanceProfile: profileXml(twin.iam.profile(name(params))) }),
  },
  CreateInstanceProfile: { run: createProfile },
  AddRoleToInstanceProfile: effect((twin, params) => {
    const [profile, role] = [name(params), params.required('RoleName')];
    return () => {
      twin.iam.addRole(profile, role);
    };
  }),
  RemoveRoleFromInstanceProfile: effect((twin, params) => {
    const [profile, role] = [name(params), params.required('RoleName')];
    return () => {
      twin.iam.removeRole(profile, role);
    };
  }),
  DeleteInstanceProfile: effect((twin, params) => {
    const profile = name(params);
    return () => {
      twin.iam.deleteProfile(profile);
    };
  }),
  TagInstanceProfile: { run: tagProfile },
  ListInstanceProfiles: { run: listProfiles },
};

// STS' default length of a session.
const sessionSeconds = 3_600;

function assumeRole(twin: CloudTwin, params: Params): Result {
  const [arn, session] = [params.required('RoleArn'), params.required('RoleSessionName')];
  const seconds = params.integer('DurationSeconds') ?? sessionSeconds;
  params.text('ExternalId');
  params.done();
  const role = twin.iam.role(arn.split('/').at(-1) ?? '');
  const accessKey = twin.identities.assume(role.name, session);
  return {
    Credentials: {
      AccessKeyId: accessKey,
      SecretAccessKey: `secret-of-${accessKey}`,
      SessionToken: `session-of-${accessKey}`,
      Expiration: timeText(twin.timeline.nowMs() + seconds * 1_000),
    },
    AssumedRoleUser: {
      AssumedRoleId: `${role.id}:${session}`,
      Arn: twin.identities.arnOf(accessKey),
    },
  };
}

/** STS: who the credentials belong to, and the credentials of a role. */
export const stsOperations: QueryOperations = {
  AssumeRole: { run: assumeRole },
  GetCallerIdentity: {
    run: ({ account, identities }, _params, { accessKey }) => ({
      Arn: identities.arnOf(accessKey),
      UserId: 'AIDADOVETAILTWIN00000',
      Account: account.accountId,
    }),
  },
};
