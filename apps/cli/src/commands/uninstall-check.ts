import { parseDurationMs } from '@dovetail/core-kube-model';
import { type Command, InvalidArgumentError } from 'commander';

import { terminal } from '../terminal.js';

type Flags = { readonly settle: number; readonly kubeconfig?: string };

function settle(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0)
    throw new InvalidArgumentError('write a duration such as 0s, 60s or 2m.');
  return ms;
}

const examples = `
NodeClaims, node classes, Provisioners with a \`provider\`, and Nodes with the finalizer of their instance need the services. The chart
runs this before \`helm uninstall\`, which fails while something is left. It reads the cluster and writes nothing.

Examples:
  $ dovetail uninstall-check
  $ dovetail uninstall-check --settle 60s && helm uninstall dovetail --namespace dovetail --no-hooks

Exit codes: 0 nothing is left; 2 something is, and the services must stay; 64 bad flags; 69 the cluster cannot be read.`;

/** `dovetail uninstall-check` says whether the services may go. */
export function addUninstallCheck(program: Command): void {
  program
    .command('uninstall-check')
    .description('Say whether Dovetail can be uninstalled without leaving anything behind.')
    .option(
      '--settle <duration>',
      'how long nothing must be left; launch templates follow their class within 30 s',
      settle,
      0,
    )
    .option('--kubeconfig <file>', 'the cluster (default: KUBECONFIG, then as kubectl)')
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      const { checkUninstall } = await import('../uninstall/live.js');
      process.exitCode = await checkUninstall(flags.settle, flags.kubeconfig, terminal);
    });
}
