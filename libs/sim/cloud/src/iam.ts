import { hexOf } from './digest.js';
import { AwsFault } from './fault.js';
import type { Timeline } from './timeline.js';
import type { World } from './world.js';

export type Role = { readonly id: string; readonly name: string; readonly path: string; readonly arn: string; readonly createdMs: number };
export type Profile = { readonly id: string; readonly name: string; readonly path: string; readonly arn: string; readonly createdMs: number; readonly roles: readonly Role[]; readonly tags: Readonly<Record<string, string>> };

/** Roles and instance profiles of the account. Errors carry IAM's codes: NoSuchEntity, EntityAlreadyExists, LimitExceeded, DeleteConflict. */
export type Iam = {
  role(name: string): Role;
  putRole(name: string, path?: string): void;
  profile(name: string): Profile;
  profiles(pathPrefix?: string): readonly Profile[];
  createProfile(order: { readonly name: string; readonly path: string; readonly tags: Readonly<Record<string, string>> }): Profile;
  addRole(profileName: string, roleName: string): void;
  removeRole(profileName: string, roleName: string): void;
  deleteProfile(name: string): void;
  tagProfile(name: string, tags: Readonly<Record<string, string>>): void;
  /** What EC2 sees: a profile older than the consistency time, with a role, by name or ARN. */
  profileForLaunch(reference: { readonly name?: string; readonly arn?: string }): Profile | undefined;
};

const noSuch = (noun: string, name: string): AwsFault => new AwsFault('NoSuchEntity', `${noun} ${name} cannot be found.`, 404);

function checkProfileOrder(order: { readonly name: string; readonly path: string }): void {
  if (!/^[\w+=,.@-]{1,128}$/.test(order.name)) throw new AwsFault('ValidationError', `The specified value for instanceProfileName is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-`);
  if (!/^\/([\x21-\x7e]*\/)?$/.test(order.path) || order.path.length > 512) throw new AwsFault('ValidationError', 'The specified value for path is invalid. It must begin and end with / and contain only printable characters.');
}

function worldRoles(world: World, createdMs: number): Map<string, Role> {
  return new Map(world.roles.map(({ name, path }) => [name, roleOf(world, { name, path, createdMs })]));
}

const roleOf = (world: World, { name, path, createdMs }: { readonly name: string; readonly path: string; readonly createdMs: number }): Role =>
  ({ id: `AROA${hexOf(17, 'role', name).toUpperCase()}`, name, path, arn: `arn:aws:iam::${world.accountId}:role${path}${name}`, createdMs });

const profileOf = (world: World, { name, path, createdMs }: { readonly name: string; readonly path: string; readonly createdMs: number }): Profile =>
  ({ id: `AIPA${hexOf(17, 'profile', name).toUpperCase()}`, name, path, arn: `arn:aws:iam::${world.accountId}:instance-profile${path}${name}`, createdMs, roles: [], tags: {} });

function createProfile(profiles: Map<string, Profile>, { world, order, nowMs }: { readonly world: World; readonly order: Parameters<Iam['createProfile']>[0]; readonly nowMs: number }): Profile {
  checkProfileOrder(order);
  if (profiles.has(order.name)) throw new AwsFault('EntityAlreadyExists', `Instance Profile ${order.name} already exists.`, 409);
  const made = { ...profileOf(world, { ...order, createdMs: nowMs }), tags: order.tags };
  profiles.set(order.name, made);
  return made;
}

function withRole(profile: Profile, member: Role): Profile {
  if (profile.roles.length > 0) throw new AwsFault('LimitExceeded', 'Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1', 409);
  return { ...profile, roles: [member] };
}

function withoutRole(profile: Profile, roleName: string): Profile {
  if (!profile.roles.some((member) => member.name === roleName)) throw noSuch('The role with name', roleName);
  return { ...profile, roles: [] };
}

/** The account's IAM, holding what the world starts with. */
export function createIam(deps: { readonly timeline: Timeline; readonly world: World; readonly profileConsistencyMs: number }): Iam {
  const { timeline, world } = deps;
  // What the world starts with is old enough to be seen everywhere.
  const oldMs = timeline.nowMs() - 86_400_000;
  const roles = worldRoles(world, oldMs);
  const profiles = new Map<string, Profile>();
  const role = (name: string): Role => {
    const found = roles.get(name);
    if (found === undefined) throw noSuch('The role with name', name);
    return found;
  };
  const profile = (name: string): Profile => {
    const found = profiles.get(name);
    if (found === undefined) throw noSuch('Instance Profile', name);
    return found;
  };
  for (const { name, path, roles: members, tags } of world.instanceProfiles) {
    profiles.set(name, { ...profileOf(world, { name, path, createdMs: oldMs }), roles: members.map(role), tags });
  }
  return {
    role, profile,
    putRole: (name, path = '/') => { roles.set(name, roleOf(world, { name, path, createdMs: timeline.nowMs() })); },
    profiles: (pathPrefix = '/') => [...profiles.values()].filter((one) => one.path.startsWith(pathPrefix)).sort((left, right) => (left.name < right.name ? -1 : 1)),
    createProfile: (order) => createProfile(profiles, { world, order, nowMs: timeline.nowMs() }),
    addRole: (profileName, roleName) => { profiles.set(profileName, withRole(profile(profileName), role(roleName))); },
    removeRole: (profileName, roleName) => { profiles.set(profileName, withoutRole(profile(profileName), roleName)); },
    deleteProfile(name) {
      if (profile(name).roles.length > 0) throw new AwsFault('DeleteConflict', 'Cannot delete entity, must remove roles from instance profile first.', 409);
      profiles.delete(name);
    },
    tagProfile: (name, tags) => { const found = profile(name); profiles.set(name, { ...found, tags: { ...found.tags, ...tags } }); },
    profileForLaunch(reference) {
      const found = [...profiles.values()].find((one) => one.name === reference.name || one.arn === reference.arn);
      const seen = found !== undefined && timeline.nowMs() - found.createdMs >= deps.profileConsistencyMs && found.roles.length > 0;
      return seen ? found : undefined;
    },
  };
}
