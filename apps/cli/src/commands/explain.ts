import { Argument, type Command, InvalidArgumentError, Option } from 'commander';

import type { ExplainRequest } from '../explain/request.js';
import { terminal } from '../terminal.js';

type Flags = {
  readonly output: 'table' | 'json';
  readonly reaper?: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
};

type Environment = Readonly<Record<string, string | undefined>>;

const requestOf = (name: string, flags: Flags, environment: Environment): ExplainRequest => {
  const reaper = flags.reaper ?? (environment['REAPER_URL'] || undefined);
  return {
    name,
    output: flags.output,
    ...(reaper === undefined ? {} : { reaper }),
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.namespace === undefined ? {} : { namespace: flags.namespace }),
  };
};

function address(text: string): string {
  if (!/^https?:\/\/[^/\s]+$/.test(text))
    throw new InvalidArgumentError('write an address such as http://127.0.0.1:8080.');
  return text;
}

const examples = `
The reaper answers from its own watches, by the rules that its loops decide with; asking changes nothing. The command asks the
reaper of the lab that runs in this folder. Without one it asks the cluster of the kubeconfig: the Lease dovetail-reaper names the
replica that leads, which alone knows what solvers said of a node, and its port is forwarded as by kubectl port-forward.
--kubeconfig or --namespace asks the cluster beside a lab, too.

Examples:
  $ dovetail explain node ip-10-0-1-7.ec2.internal
  $ dovetail explain node default-6x2vq -o json | jq -r '.answers[].reasons[].code'   # by the name of its NodeClaim
  $ dovetail explain node default-6x2vq --kubeconfig production.yaml

Exit codes: 0 explained; 64 bad flags; 66 there is no such node; 69 the reaper cannot be asked.`;

/** `dovetail explain node NAME` shows why a node stays or goes. */
export function addExplain(program: Command, environment: Environment): void {
  program
    .command('explain')
    .description('Show why a node stays or goes: every cause, and what holds it.')
    .addArgument(new Argument('<kind>', 'the kind of object').choices(['node']))
    .argument('<name>', 'the name of the node, or of its NodeClaim')
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option(
      '--reaper <url>',
      "address of the reaper's HTTP port (default: REAPER_URL, then the lab that runs in this folder, then the cluster's)",
      address,
    )
    .option('--kubeconfig <file>', 'the cluster (default: KUBECONFIG, then as kubectl)')
    .option('-n, --namespace <name>', "the reaper's namespace (default: the one with its Lease)")
    .addHelpText('after', examples)
    .action(async (_kind: string, name: string, flags: Flags) => {
      const { runExplain } = await import('../explain/run.js');
      process.exitCode = await runExplain(requestOf(name, flags, environment), terminal);
    });
}
