import { messageOf } from '@dovetail/core-ports';
import { type Command } from 'commander';

import { terminal } from '../terminal.js';
import { clusterName } from './cluster-name.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Flags = { readonly cluster: string; readonly out: string };

const examples = `
Each service gets a user of its own that may do what the service does, and nothing else. \`reader\` may read decisions,
for \`dovetail decisions\` and other subscribers. \`streams\` alone makes streams, for \`dovetail nats-streams\`. The folder
then holds users.conf, and a seed for each user: pod-watcher.nk, solver.nk, launcher.nk, reaper.nk, reader.nk, console.nk,
sinks.nk, streams.nk. A seed that is there is kept; delete it to get a new one.

Examples:
  $ dovetail nats-users --cluster production --out nats
  $ cat >> nats-server.conf <<'EOF'
  authorization { include nats/users.conf }
  EOF
  $ nats-server --signal reload
  $ kubectl -n dovetail create secret generic dovetail-nats-launcher --from-file=creds=nats/launcher.nk
  $ dovetail decisions --nats-credentials nats/reader.nk --cluster production

Exit codes: 0 written; 64 bad flags; 74 a file could not be read or written.`;

/** Exit code of a file that cannot be read or written (EX_IOERR). */
const ioError = 74;

/** `dovetail nats-users` writes the users of the services for nats-server. */
export function addNatsUsers(program: Command, environment: Environment): void {
  program
    .command('nats-users')
    .description("Write NATS users for the services, each with exactly its service's rights.")
    .option(
      '--cluster <name>',
      'name of the cluster (default: CLUSTER_NAME, then lab)',
      clusterName,
      environment['CLUSTER_NAME'] ?? 'lab',
    )
    .requiredOption('--out <folder>', 'where to write; it is made when it is missing')
    .addHelpText('after', examples)
    .action(async ({ cluster, out }: Flags) => {
      const { writeUsers } = await import('@dovetail/adapter-nats');
      try {
        const { files, kept } = await writeUsers(cluster, out);
        terminal.out(files.map((file) => `wrote ${file}\n`).join(''));
        if (kept.length > 0) terminal.out(`kept the seeds of ${kept.join(', ')}\n`);
      } catch (error) {
        terminal.err(`--out ${out}: ${messageOf(error)}\n`);
        process.exitCode = ioError;
      }
    });
}
