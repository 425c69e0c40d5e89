import { Argument, type Command, InvalidArgumentError, Option } from 'commander';

import type { ExplainRequest } from '../explain/request.js';
import type { StoryKind } from '../explain/story.js';
import { terminal } from '../terminal.js';
import { type BusFlags, busRequestOf, type Environment, withConnection } from './bus-flags.js';
import { terminalLayout } from './layouts.js';
import { nameOf } from './names.js';

type Flags = BusFlags & {
  readonly output: 'table' | 'json';
  readonly reaper?: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly wide: boolean;
};

const requestOf = (name: string, flags: Flags, environment: Environment): ExplainRequest => {
  const reaper = flags.reaper ?? (environment['REAPER_URL'] || undefined);
  return {
    name,
    output: flags.output,
    layout: terminalLayout(flags),
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
pod, pool, claim and decision are explained by the decisions that NATS keeps for 7 days: which pools and types fell out at which step,
other options with their prices, the remedy, and the history. Reading them changes nothing.

node: why it stays or goes. The reaper answers from its own watches, by the rules that its loops decide with. The command asks the
reaper of the lab that runs in this folder. Without one it asks the cluster of the kubeconfig: the Lease dovetail-reaper names the
replica that leads, which alone knows what solvers said of a node, and its port is forwarded as by kubectl port-forward.
--kubeconfig or --namespace asks the cluster beside a lab, too.

Examples:
  $ dovetail explain pod default/web-6d4cf56db6-x7k2p
  $ dovetail explain pool default
  $ dovetail explain claim default-6x2vq                       # why it was bought, and what became of it
  $ dovetail explain decision plan/3f9c                        # the beginning of its id is enough
  $ dovetail explain pod shop/web -o json | jq -r '.reasons[] | [.subject, .code, .fell.count] | @tsv'
  $ dovetail explain node ip-10-0-1-7.ec2.internal
  $ dovetail explain node default-6x2vq -o json | jq -r '.answers[].reasons[].code'   # by the name of its NodeClaim
  $ dovetail explain node default-6x2vq --kubeconfig production.yaml
  $ dovetail explain pod shop/web --nats nats://nats.dovetail.svc:4222 --cluster production

Exit codes: 0 explained; 64 bad flags; 66 nothing is known of such an object; 69 the reaper or NATS cannot be asked.`;

const kinds = ['pod', 'node', 'pool', 'claim', 'decision'] as const;

/** The flags for what the reaper is asked. */
const withReaper = (command: Command): Command =>
  command
    .option(
      '--reaper <url>',
      "node: address of the reaper's HTTP port (default: REAPER_URL, then the lab that runs in this folder, then the cluster's)",
      address,
    )
    .option('--kubeconfig <file>', 'node: the cluster (default: KUBECONFIG, then as kubectl)')
    .option(
      '-n, --namespace <name>',
      "node: the reaper's namespace (default: the one with its Lease)",
    );

async function explain(
  kind: StoryKind | 'node',
  name: string,
  { flags, environment }: { readonly flags: Flags; readonly environment: Environment },
): Promise<number> {
  if (kind === 'node') {
    const { runExplain } = await import('../explain/run.js');
    return await runExplain(requestOf(name, flags, environment), terminal);
  }
  // NATS and the contracts are loaded here, so that other commands start at once.
  const { runStory } = await import('../explain/story-run.js');
  const { output } = flags;
  const bus = busRequestOf(flags, environment);
  return await runStory({ kind, name, bus, output, layout: terminalLayout(flags) }, terminal);
}

const names = 'namespace/name of a pod, the name of a pool, claim or node, or the id of a decision';

/** `dovetail explain KIND NAME` shows why an object is as it is. */
export function addExplain(program: Command, environment: Environment): void {
  const command = program
    .command('explain')
    .description(
      'Show why a pod waits or went where it is, why a node exists, stays or goes, and what a decision weighed.',
    )
    .addArgument(new Argument('<kind>', 'the kind of object').choices(kinds))
    .argument('<name>', names, nameOf(names))
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option('--wide', "whole lines, even if they are longer than the terminal's", false);
  withConnection(withReaper(command), environment)
    .addHelpText('after', examples)
    .action(async (kind: StoryKind | 'node', name: string, flags: Flags) => {
      process.exitCode = await explain(kind, name, { flags, environment });
    });
}
