import { type Command, Option } from 'commander';

import type { StatusRequest } from '../status/request.js';
import { terminal } from '../terminal.js';

type Environment = Readonly<Record<string, string | undefined>>;

type Flags = {
  readonly output: 'table' | 'json';
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly wide: boolean;
};

const requestOf = (flags: Flags, environment: Environment): StatusRequest => {
  const width = flags.wide ? undefined : process.stdout.columns;
  return {
    output: flags.output,
    labFirst: (environment['KUBECONFIG'] ?? '') === '',
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.namespace === undefined ? {} : { namespace: flags.namespace }),
    ...(width === undefined ? {} : { width }),
  };
};

const examples = `
Reads the cluster once and writes nothing. A service leads by its Lease; one whose Lease has run out does nothing. CPU and MEMORY are
what pods request of what their nodes can give. Prices are those at launch, ~ means estimated, and a month has 730 hours.
JSON names its form in \`schema\`; a version of it only gains fields.

Examples:
  $ dovetail status
  $ watch dovetail status --wide
  $ dovetail status --kubeconfig production.yaml -o json | jq '.total.priceMicrosPerHour / 1e6'
  $ dovetail status -o json | jq -r '.services[] | select(.overdue) | .name'   # services that nobody leads

Exit codes: 0 printed, whatever it says; 64 bad flags; 69 the cluster cannot be read.`;

/** `dovetail status` shows services, pools, prices and waiting pods at this moment. */
export function addStatus(program: Command, environment: Environment): void {
  program
    .command('status')
    .description('Show who leads, the nodes of each pool with fill and price, and what waits.')
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option(
      '--kubeconfig <file>',
      'the cluster (default: KUBECONFIG, then the lab that runs in this folder, then as kubectl)',
    )
    .option('-n, --namespace <name>', "the namespace of the services' Leases (default: any)")
    .option('--wide', "whole lines, even if they are longer than the terminal's", false)
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      // The client of Kubernetes is loaded here, so that other commands start at once.
      const { runStatus } = await import('../status/run.js');
      process.exitCode = await runStatus(requestOf(flags, environment), terminal);
    });
}
