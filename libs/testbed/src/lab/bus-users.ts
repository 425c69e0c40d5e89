import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { assert } from '@dovetail/core-invariant';

import type { LabOptions } from './options.js';

const run = promisify(execFile);

const folderOf = (options: LabOptions): string => join(options.dir, 'nats', 'users');

/** The file by which a service of the lab proves to NATS who it is. */
export const seedOf = (options: LabOptions, program: string): string =>
  join(folderOf(options), `${program}.nk`);

/** The user of a lab's bus that has every right: for tests that play faults. */
export const busOperator = { user: 'operator', pass: 'operator' } as const;

/**
 * Makes the users of the services by the command that operators use, and returns nats-server's
 * configuration of them. Each service then has exactly its own rights. Clients that name no user
 * have the rights of the reader, so that a program that reads decisions here reads them in a
 * cluster, too.
 */
export async function busUsers(options: LabOptions): Promise<string> {
  const folder = folderOf(options);
  const cli = join(options.distDir, 'cli.js');
  await run(process.execPath, [
    cli,
    'nats-users',
    '--cluster',
    options.clusterName,
    '--out',
    folder,
  ]);
  const users = await readFile(join(folder, 'users.conf'), 'utf8');
  const further = [
    { user: 'anyone', password: 'anyone', permissions: permissionsIn(users, 'reader') },
    { user: busOperator.user, password: busOperator.pass },
  ];
  const entries = further.map((user) => `    ${JSON.stringify(user)}\n`).join('');
  return `authorization {\n${users.replace(/\]\s*$/, () => `${entries}]\n`)}}\nno_auth_user: "anyone"\n`;
}

/** The permissions of a user in the file that the command wrote, where a comment names each. */
function permissionsIn(users: string, name: string): object {
  const [, entry] =
    new RegExp(`^ {4}# ${name} of .*\n( {4}\\{[^]*?^ {4}\\})`, 'm').exec(users) ?? [];
  assert(entry !== undefined, 'the command writes each user below its name');
  return (JSON.parse(entry) as { readonly permissions: object }).permissions;
}
