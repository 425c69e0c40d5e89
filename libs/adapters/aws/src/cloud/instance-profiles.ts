import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  GetInstanceProfileCommand,
  IAMClient,
  ListInstanceProfilesCommand,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { CloudError, type InstanceProfiles } from '@dovetail/core-ports';

import { allPages } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';
import { tagList } from '../calls/tags.js';

/**
 * Instance profiles: the roles that nodes run under. Each step may be repeated after a crash at any
 * line.
 */
export function awsInstanceProfiles(session: AwsSession): InstanceProfiles {
  return {
    async ensureInstanceProfile({ name, role, path, tags }) {
      // IAM knows a role by the last part of its path. Manifests often give the whole path.
      const roleName = role.slice(role.lastIndexOf('/') + 1);
      const roles = (await rolesOf(session, name)) ?? (await create(session, { name, path, tags }));
      for (const other of roles) if (other !== roleName) await removeRole(session, name, other);
      if (!roles.includes(roleName)) await addRole(session, name, roleName);
      return name;
    },
    instanceProfileExists: async (name) => (await rolesOf(session, name)) !== undefined,
    instanceProfiles: async (pathPrefix) => {
      const found = await allPages(
        (Marker) =>
          session.calls.run('other', 'iam:ListInstanceProfiles', () =>
            session
              .client(IAMClient)
              .send(new ListInstanceProfilesCommand({ PathPrefix: pathPrefix, Marker })),
          ),
        (page) => ({ items: page.InstanceProfiles, next: page.Marker }),
      );
      // Profiles are deleted by this list, so a server that ignores the prefix must not widen it.
      return found.flatMap(({ InstanceProfileName, Path }) =>
        Path?.startsWith(pathPrefix) ? (InstanceProfileName ?? []) : [],
      );
    },
    async deleteInstanceProfile(name) {
      const roles = await rolesOf(session, name);
      if (roles === undefined) return;
      for (const role of roles) await removeRole(session, name, role);
      await passing(
        'not-found',
        session.calls.run('other', 'iam:DeleteInstanceProfile', () =>
          session
            .client(IAMClient)
            .send(new DeleteInstanceProfileCommand({ InstanceProfileName: name })),
        ),
      );
    },
  };
}

/** The roles of a profile (IAM allows one). Undefined when there is no such profile. */
async function rolesOf(session: AwsSession, name: string): Promise<readonly string[] | undefined> {
  const answer = await passing(
    'not-found',
    session.calls.run('other', 'iam:GetInstanceProfile', () =>
      session.client(IAMClient).send(new GetInstanceProfileCommand({ InstanceProfileName: name })),
    ),
  );
  return answer === undefined
    ? undefined
    : (answer.InstanceProfile?.Roles ?? []).flatMap(({ RoleName }) => RoleName ?? []);
}

/** Makes the profile and returns its roles. Another process may have made it in the meantime. */
async function create(
  session: AwsSession,
  profile: {
    readonly name: string;
    readonly path: string;
    readonly tags: Readonly<Record<string, string>>;
  },
): Promise<readonly string[]> {
  const Tags = tagList(profile.tags).map(({ Key = '', Value = '' }) => ({ Key, Value }));
  const made = await passing(
    'EntityAlreadyExists',
    session.calls.run('other', 'iam:CreateInstanceProfile', () =>
      session.client(IAMClient).send(
        new CreateInstanceProfileCommand({
          // The SDK sends an empty list as an empty parameter, which IAM refuses.
          InstanceProfileName: profile.name,
          Path: profile.path,
          ...(Tags.length === 0 ? {} : { Tags }),
        }),
      ),
    ),
  );
  return made === undefined ? ((await rolesOf(session, profile.name)) ?? []) : [];
}

async function addRole(session: AwsSession, name: string, role: string): Promise<void> {
  await passing(
    'LimitExceeded',
    session.calls.run('other', 'iam:AddRoleToInstanceProfile', () =>
      session
        .client(IAMClient)
        .send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: name, RoleName: role })),
    ),
  );
  // IAM also answers LimitExceeded when the profile already has this role. Any other role in it is
  // a failure.
  const roles = await rolesOf(session, name);
  if (roles?.includes(role) !== true)
    throw new CloudError(
      'unavailable',
      'LimitExceeded',
      `instance profile ${name} holds ${JSON.stringify(roles ?? [])} instead of role ${role}; the next attempt replaces it`,
    );
}

async function removeRole(session: AwsSession, name: string, role: string): Promise<void> {
  await passing(
    'not-found',
    session.calls.run('other', 'iam:RemoveRoleFromInstanceProfile', () =>
      session
        .client(IAMClient)
        .send(
          new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName: name, RoleName: role }),
        ),
    ),
  );
}

/** The answer, or undefined when the call failed with this code (ours or AWS'). */
async function passing<T>(code: string, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (
      error instanceof CloudError &&
      (error.code === code || error.awsCode === code || error.awsCode === `${code}Exception`)
    )
      return undefined;
    throw error;
  }
}
