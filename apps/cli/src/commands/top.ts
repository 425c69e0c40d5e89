import type { NodeState } from '@dovetail/core-fleet';
import { type Command, InvalidArgumentError, Option } from 'commander';

import { isLabKubeconfig } from '../lab/addresses.js';
import { terminal } from '../terminal.js';
import type { TopRequest } from '../top/run.js';
import type { TopSelection } from '../top/selection.js';
import type { Environment } from './bus-flags.js';
import { duration } from './durations.js';
import { terminalLayout } from './layouts.js';

type Flags = Omit<TopSelection, 'states'> & {
  readonly state?: readonly NodeState[];
  readonly once: boolean;
  readonly interval: number;
  readonly output: 'table' | 'json';
  readonly kubeconfig?: string;
  readonly wide: boolean;
};

/** Lists of the modules that a command line loads only when it needs them. A test compares them. */
export const topChoices = {
  sort: ['age', 'name', 'pool', 'type', 'zone', 'price', 'cpu', 'memory', 'pods', 'next'],
  state: ['launching', 'starting', 'ready', 'not-ready', 'ending'],
} as const;

function interval(text: string): number {
  const ms = duration(text);
  if (ms < 200 || ms > 3_600_000) throw new InvalidArgumentError('write 200ms to 1h.');
  return ms;
}

function requestOf(flags: Flags, environment: Environment): TopRequest {
  const { state, kubeconfig } = flags;
  const { KUBECONFIG = '' } = environment;
  return {
    cluster: {
      labFirst: KUBECONFIG === '' || isLabKubeconfig(KUBECONFIG),
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
    },
    selection: { ...flags, ...(state === undefined ? {} : { states: state }) },
    output: flags.output,
    layout: terminalLayout(flags),
  };
}

const examples = `
Shows the nodes of NodeClaims: what pods request of what each can give, its price at launch (~: estimated), and the next thing that
happens to it by its claim, pool and pods. Budgets and moves that the reaper weighs are not in it: dovetail explain node NAME has them.
On a terminal the view is live, from watches, until q. A pipe or a file gets it once. It needs the right to list and watch nodes, pods,
NodeClaims and NodePools, and writes nothing. Rows that do not fit into the terminal are counted, and narrow ones lose columns.

Examples:
  $ dovetail top
  $ dovetail top --sort cpu --reverse --pool default      # the emptiest first
  $ dovetail top --state ending launching --once
  $ dovetail top -o json | jq '[.nodes[] | select(.capacityType == "spot") | .priceMicrosPerHour] | add / 1e6'

Exit codes: 0 shown; 64 bad flags; 69 the cluster cannot be read.`;

const withSelection = (command: Command): Command =>
  command
    .addOption(
      new Option('--sort <column>', 'the order of rows; numbers from the greatest on')
        .choices(topChoices.sort)
        .default('age'),
    )
    .option('--reverse', 'the other way round', false)
    .option('--pool <pool>', 'only nodes of this pool: a name, or Provisioner/name')
    .option('--zone <zone>', 'only nodes in this zone')
    .option('--type <type>', 'only nodes of this instance type')
    .addOption(
      new Option('--capacity-type <type>', 'only nodes that were bought this way').choices([
        'on-demand',
        'spot',
      ]),
    )
    .addOption(
      new Option('--state <state...>', 'only nodes in these states').choices(topChoices.state),
    );

async function live(request: TopRequest, everyMs: number): Promise<number> {
  const [{ topLive }, { terminalScreen }] = await Promise.all([
    import('../top/run.js'),
    import('../top/screen.js'),
  ]);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const screen = terminalScreen(() => stop.abort());
  let said = '';
  try {
    // Errors would be drawn over, so they come after the screen is given back.
    const output = {
      ...terminal,
      err: (text: string) => {
        said += text;
      },
    };
    return await topLive(request, { screen, everyMs, output }, stop.signal);
  } finally {
    screen.close();
    terminal.err(said);
  }
}

/** `dovetail top` shows nodes as they fill. */
export function addTop(program: Command, environment: Environment): void {
  const command = program
    .command('top')
    .description(
      'Show nodes as they fill, with price, age and the next thing that happens to each.',
    );
  withSelection(command)
    .option('--once', 'print it once, also on a terminal', false)
    .option('--interval <duration>', 'the time between two views', interval, 1_000)
    .addOption(
      new Option('-o, --output <format>', 'how to print; json prints once')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option(
      '--kubeconfig <file>',
      'the cluster (default: KUBECONFIG, then the lab that runs in this folder, then as kubectl)',
    )
    .option('--wide', "whole lines, even if they are longer than the terminal's", false)
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      const request = requestOf(flags, environment);
      const isLive = process.stdout.isTTY && !flags.once && flags.output === 'table';
      if (isLive) {
        process.exitCode = await live(request, flags.interval);
        return;
      }
      const { topOnce } = await import('../top/run.js');
      process.exitCode = await topOnce(request, terminal);
    });
}
