import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { LabOptions } from './options.js';

const run = promisify(execFile);

const folderOf = (options: LabOptions): string => join(options.dir, 'nats', 'users');

/** The file by which a service of the lab proves to NATS who it is. */
export const seedOf = (options: LabOptions, program: string): string =>
  join(folderOf(options), `${program}.nk`);

/**
 * Makes the users of the services by the command that operators use, and returns nats-server's
 * configuration of them. Each service then has exactly its own rights. Clients that name no user,
 * such as tests and people who look around, have every right in this lab.
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
  const withAnyone = users.replace(/\]\s*$/, '    { user: "anyone", password: "anyone" }\n]\n');
  return `authorization {\n${withAnyone}}\nno_auth_user: "anyone"\n`;
}
