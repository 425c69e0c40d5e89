import {
  AddRoleToInstanceProfileCommand, CreateInstanceProfileCommand, DeleteInstanceProfileCommand, GetInstanceProfileCommand, RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import { CloudError, type Cloud } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { tagList } from './discovery.js';

type Profiles = Pick<Cloud, 'ensureInstanceProfile' | 'instanceProfileExists' | 'deleteInstanceProfile'>;
type Context = { readonly clients: AwsClients; readonly calls: AwsCalls };

/** Instance profiles: the roles that nodes run under. Each step may be repeated after a crash at any line. */
export function profilesOf(clients: AwsClients, calls: AwsCalls): Profiles {
  const context = { clients, calls };
  return {
    async ensureInstanceProfile({ name, role, path, tags }) {
      // IAM names a role by its last part; manifests often say it with its path.
      const roleName = role.slice(role.lastIndexOf('/') + 1);
      const roles = await rolesOf(context, name) ?? await create(context, { name, path, tags });
      for (const other of roles) if (other !== roleName) await removeRole(context, name, other);
      if (!roles.includes(roleName)) await addRole(context, name, roleName);
      return name;
    },
    instanceProfileExists: async (name) => (await rolesOf(context, name)) !== undefined,
    async deleteInstanceProfile(name) {
      const roles = await rolesOf(context, name);
      if (roles === undefined) return;
      for (const role of roles) await removeRole(context, name, role);
      await passing('not-found', calls.run('other', 'iam:DeleteInstanceProfile', () => clients.iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName: name }))));
    },
  };
}

/** The roles of a profile (IAM allows one); undefined when there is no such profile. */
async function rolesOf({ clients, calls }: Context, name: string): Promise<readonly string[] | undefined> {
  const answer = await passing('not-found', calls.run('other', 'iam:GetInstanceProfile', () => clients.iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name }))));
  return answer === undefined ? undefined : (answer.InstanceProfile?.Roles ?? []).flatMap(({ RoleName }) => RoleName ?? []);
}

/** Another may have made it meanwhile: then its roles count. */
async function create(context: Context, profile: { readonly name: string; readonly path: string; readonly tags: Readonly<Record<string, string>> }): Promise<readonly string[]> {
  const { clients, calls } = context;
  const Tags = tagList(profile.tags).map(({ Key = '', Value = '' }) => ({ Key, Value }));
  const made = await passing('EntityAlreadyExists', calls.run('other', 'iam:CreateInstanceProfile', () => clients.iam.send(new CreateInstanceProfileCommand({
    // An empty list is sent as an empty parameter, which IAM does not take.
    InstanceProfileName: profile.name, Path: profile.path, ...(Tags.length === 0 ? {} : { Tags }),
  }))));
  return made === undefined ? (await rolesOf(context, profile.name)) ?? [] : [];
}

async function addRole({ clients, calls }: Context, name: string, role: string): Promise<void> {
  await passing('LimitExceeded', calls.run('other', 'iam:AddRoleToInstanceProfile', () => clients.iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: name, RoleName: role }))));
  // IAM says "limit exceeded" also when the same role is there already; anything else in it is a failure.
  const roles = await rolesOf({ clients, calls }, name);
  if (roles?.includes(role) !== true) throw new CloudError('unavailable', 'LimitExceeded', `instance profile ${name} holds ${JSON.stringify(roles ?? [])} instead of role ${role}; it is tried again`);
}

async function removeRole({ clients, calls }: Context, name: string, role: string): Promise<void> {
  await passing('not-found', calls.run('other', 'iam:RemoveRoleFromInstanceProfile', () => clients.iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName: name, RoleName: role }))));
}

/** The answer, or undefined when the call failed with this code (ours or AWS'). */
async function passing<T>(code: string, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CloudError && (error.code === code || error.awsCode === code || error.awsCode === `${code}Exception`)) return undefined;
    throw error;
  }
}
