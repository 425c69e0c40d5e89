import { Argument, type Command, InvalidArgumentError, Option } from 'commander';

import { terminal } from '../terminal.js';

type Flags = { readonly output: 'table' | 'json'; readonly reaper: string };

function address(text: string): string {
  if (!/^https?:\/\/[^/\s]+$/.test(text))
    throw new InvalidArgumentError('write an address such as http://127.0.0.1:8080.');
  return text;
}

const examples = `
The reaper answers from its own watches, by the rules that its loops decide with; asking changes nothing. Ask the replica that
leads: only it knows what solvers said of a node. It answers callers of its own host, so forward its port first.

Examples:
  $ kubectl -n dovetail port-forward deployment/dovetail-reaper 8080 &
  $ dovetail explain node ip-10-0-1-7.ec2.internal
  $ dovetail explain node default-6x2vq -o json | jq -r '.answers[].reasons[].code'   # by the name of its NodeClaim

Exit codes: 0 explained; 64 bad flags; 66 there is no such node; 69 the reaper cannot be asked.`;

/** `dovetail explain node NAME` shows why a node stays or goes. */
export function addExplain(
  program: Command,
  environment: Readonly<Record<string, string | undefined>>,
): void {
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
      "address of the reaper's HTTP port (default: REAPER_URL, then http://127.0.0.1:8080)",
      address,
      environment['REAPER_URL'] ?? 'http://127.0.0.1:8080',
    )
    .addHelpText('after', examples)
    .action(async (_kind: string, name: string, { output, reaper }: Flags) => {
      const { runExplain } = await import('../explain/run.js');
      process.exitCode = await runExplain({ name, output, reaper }, terminal);
    });
}
