import { type Command, Option } from 'commander';

import { isLabKubeconfig } from '../lab/addresses.js';
import type { StatusRequest } from '../status/request.js';
import { terminal } from '../terminal.js';
import { type BusFlags, busRequestOf, type Environment, withConnection } from './bus-flags.js';

type Flags = BusFlags & {
  readonly output: 'table' | 'json';
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly wide: boolean;
};

const requestOf = (flags: Flags, environment: Environment): StatusRequest => {
  const width = flags.wide ? undefined : process.stdout.columns;
  const { KUBECONFIG = '' } = environment;
  return {
    bus: busRequestOf(flags, environment),
    output: flags.output,
    labFirst: KUBECONFIG === '' || isLabKubeconfig(KUBECONFIG),
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.namespace === undefined ? {} : { namespace: flags.namespace }),
    ...(width === undefined ? {} : { width }),
  };
};

const examples = `
Reads the cluster once and writes nothing. A service leads by its Lease; one whose Lease has run out does nothing. CPU and MEMORY are
what pods request of what their nodes can give. Prices are those at launch, ~ means estimated, and a month has 730 hours.
Why pods wait and the last rounds come from the decisions in NATS. Without --nats or NATS_URL they are read of this folder's lab
alone; then kube-scheduler's reasons are shown. LEAST $/H is the bound of a plan: no plan for the same pods costs less.
JSON names its form in \`schema\`; a version of it only gains fields.

Examples:
  $ dovetail status
  $ dovetail status --kubeconfig production.yaml --nats nats://127.0.0.1:4222 --cluster production
  $ watch dovetail status --wide
  $ dovetail status --kubeconfig production.yaml -o json | jq '.total.priceMicrosPerHour / 1e6'
  $ dovetail status -o json | jq -r '.services[] | select(.overdue) | .name'   # services that nobody leads

Exit codes: 0 printed, whatever it says; 64 bad flags; 69 the cluster cannot be read, or NATS cannot, and then the rest is printed.`;

/** `dovetail status` shows services, pools, prices and waiting pods at this moment. */
export function addStatus(program: Command, environment: Environment): void {
  const command = program
    .command('status')
    .description(
      'Show who leads, the nodes of each pool with fill and price, and what waits and why.',
    );
  withConnection(command, environment)
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
