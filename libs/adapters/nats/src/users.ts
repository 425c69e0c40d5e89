import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { busRights, type BusRole, busRoles } from '@dovetail/contracts';
import { messageOf } from '@dovetail/core-ports';

import { type NatsUser, permissionsOf, usersConfig } from './permissions.js';
import { newUserKey, type UserKey, userKeyOf } from './user-keys.js';

/** The file that nats-server's configuration includes. */
export const usersFile = 'users.conf';
/** The file of a role's seed: what `NATS_CREDENTIALS` names. */
export const seedFile = (role: BusRole): string => `${role}.nk`;

/** Files that were written, and roles whose seed was there already. */
export type WrittenUsers = { readonly files: readonly string[]; readonly kept: readonly BusRole[] };

/**
 * Writes the users of a cluster's services into a folder: the configuration for nats-server, and
 * each user's seed. Seeds that are there are kept, so that writing again brings new rights and no
 * new keys. Throws with the file's name when one cannot be read or written.
 */
export async function writeUsers(cluster: string, folder: string): Promise<WrittenUsers> {
  await mkdir(folder, { recursive: true });
  const users = new Map<string, NatsUser>();
  const files: string[] = [];
  const kept: BusRole[] = [];
  for (const role of busRoles) {
    const path = join(folder, seedFile(role));
    const known = await keyIn(path);
    const key = known ?? newUserKey();
    if (known === undefined) {
      await writeSecret(path, `${key.seed}\n`);
      files.push(path);
    } else kept.push(role);
    users.set(`${role} of cluster ${cluster}`, {
      nkey: key.publicKey,
      permissions: permissionsOf(busRights(cluster, role)),
    });
  }
  const path = join(folder, usersFile);
  await writeFile(path, `${about(cluster)}${usersConfig(users)}`);
  return { files: [...files, path], kept };
}

const about = (cluster: string): string =>
  `# The users of Dovetail's services for cluster ${cluster}, for an authorization or accounts block of nats-server.\n` +
  '# Written by: dovetail nats-users. Write it again after an upgrade, then reload nats-server.\n';

async function keyIn(path: string): Promise<UserKey | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return userKeyOf(text.trim());
  } catch (error) {
    throw new Error(
      `${path} holds no seed of a user (${messageOf(error)}): delete it for a new one, or put the right one there`,
      { cause: error },
    );
  }
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  await chmod(path, 0o600);
}
