import { compareText } from '@dovetail/core-kube-model';

import type { Account } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import type { Timeline } from '../foundation/timeline.js';

/** An IAM role. */
export type Role = {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly arn: string;
  readonly createdMs: number;
};

/** An IAM instance profile with its roles. */
export type Profile = {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly arn: string;
  readonly createdMs: number;
  readonly roles: readonly Role[];
  readonly tags: Readonly<Record<string, string>>;
};

/** A new instance profile. */
export type ProfileOrder = {
  readonly name: string;
  readonly path: string;
  readonly tags: Readonly<Record<string, string>>;
};

const noSuch = (noun: string, name: string): AwsFault =>
  new AwsFault('NoSuchEntity', `${noun} ${name} cannot be found.`, 404);

function checkProfileOrder(order: { readonly name: string; readonly path: string }): void {
  if (!/^[\w+=,.@-]{1,128}$/.test(order.name))
    throw new AwsFault(
      'ValidationError',
      `The specified value for instanceProfileName is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-`,
    );
  if (!/^\/([\x21-\x7e]*\/)?$/.test(order.path) || order.path.length > 512)
    throw new AwsFault(
      'ValidationError',
      'The specified value for path is invalid. It must begin and end with / and contain only printable characters.',
    );
}

type Named = { readonly name: string; readonly path: string; readonly createdMs: number };

const roleOf = (account: Account, { name, path, createdMs }: Named): Role => ({
  id: `AROA${hexOf(17, 'role', name).toUpperCase()}`,
  name,
  path,
  arn: `arn:aws:iam::${account.accountId}:role${path}${name}`,
  createdMs,
});

const profileOf = (account: Account, { name, path, createdMs }: Named): Profile => ({
  id: `AIPA${hexOf(17, 'profile', name).toUpperCase()}`,
  name,
  path,
  arn: `arn:aws:iam::${account.accountId}:instance-profile${path}${name}`,
  createdMs,
  roles: [],
  tags: {},
});

function withRole(profile: Profile, member: Role): Profile {
  if (profile.roles.length > 0)
    throw new AwsFault(
      'LimitExceeded',
      'Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1',
      409,
    );
  return { ...profile, roles: [member] };
}

function withoutRole(profile: Profile, roleName: string): Profile {
  if (!profile.roles.some((member) => member.name === roleName))
    throw noSuch('The role with name', roleName);
  return { ...profile, roles: [] };
}

/**
 * The account's IAM: roles and instance profiles, beginning with those of the account. Errors carry
 * IAM's codes: NoSuchEntity, EntityAlreadyExists, LimitExceeded, DeleteConflict.
 */
export class Iam {
  readonly #timeline: Timeline;
  readonly #account: Account;
  readonly #consistencyMs: number;
  readonly #roles: Map<string, Role>;
  readonly #profiles = new Map<string, Profile>();

  /** A profile younger than `profileConsistencyMs` is unknown to EC2. */
  constructor(deps: {
    readonly timeline: Timeline;
    readonly account: Account;
    readonly profileConsistencyMs: number;
  }) {
    const { timeline, account } = deps;
    this.#timeline = timeline;
    this.#account = account;
    this.#consistencyMs = deps.profileConsistencyMs;
    // The account's own entities are a day old, so that every service sees them.
    const createdMs = timeline.nowMs() - 86_400_000;
    this.#roles = new Map(
      account.roles.map(({ name, path }) => [name, roleOf(account, { name, path, createdMs })]),
    );
    for (const { name, path, roles, tags } of account.instanceProfiles) {
      const profile = profileOf(account, { name, path, createdMs });
      this.#profiles.set(name, { ...profile, roles: roles.map((role) => this.role(role)), tags });
    }
  }

  role(name: string): Role {
    const found = this.#roles.get(name);
    if (found === undefined) throw noSuch('The role with name', name);
    return found;
  }

  putRole(name: string, path = '/'): void {
    const createdMs = this.#timeline.nowMs();
    this.#roles.set(name, roleOf(this.#account, { name, path, createdMs }));
  }

  profile(name: string): Profile {
    const found = this.#profiles.get(name);
    if (found === undefined) throw noSuch('Instance Profile', name);
    return found;
  }

  /** The profiles whose path begins with the prefix, by name. */
  profiles(pathPrefix = '/'): readonly Profile[] {
    return [...this.#profiles.values()]
      .filter((one) => one.path.startsWith(pathPrefix))
      .sort((left, right) => compareText(left.name, right.name));
  }

  createProfile(order: ProfileOrder): Profile {
    checkProfileOrder(order);
    if (this.#profiles.has(order.name))
      throw new AwsFault(
        'EntityAlreadyExists',
        `Instance Profile ${order.name} already exists.`,
        409,
      );
    const made = {
      ...profileOf(this.#account, { ...order, createdMs: this.#timeline.nowMs() }),
      tags: order.tags,
    };
    this.#profiles.set(order.name, made);
    return made;
  }

  addRole(profileName: string, roleName: string): void {
    this.#profiles.set(profileName, withRole(this.profile(profileName), this.role(roleName)));
  }

  removeRole(profileName: string, roleName: string): void {
    this.#profiles.set(profileName, withoutRole(this.profile(profileName), roleName));
  }

  deleteProfile(name: string): void {
    if (this.profile(name).roles.length > 0)
      throw new AwsFault(
        'DeleteConflict',
        'Cannot delete entity, must remove roles from instance profile first.',
        409,
      );
    this.#profiles.delete(name);
  }

  tagProfile(name: string, tags: Readonly<Record<string, string>>): void {
    const found = this.profile(name);
    this.#profiles.set(name, { ...found, tags: { ...found.tags, ...tags } });
  }

  /**
   * The profile as EC2 sees it: older than the consistency time and with a role, by name or ARN.
   */
  profileForLaunch(reference: {
    readonly name?: string;
    readonly arn?: string;
  }): Profile | undefined {
    const found = [...this.#profiles.values()].find(
      (one) => one.name === reference.name || one.arn === reference.arn,
    );
    const seen =
      found !== undefined &&
      this.#timeline.nowMs() - found.createdMs >= this.#consistencyMs &&
      found.roles.length > 0;
    return seen ? found : undefined;
  }
}
