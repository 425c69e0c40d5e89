import { type Command, InvalidArgumentError, Option } from 'commander';

import { type PriceChange, priceChangeOf } from '../replay/changes.js';
import type { ReplayRequest } from '../replay/run.js';
import { terminal } from '../terminal.js';
import { type BusFlags, busRequestOf, type Environment, withConnection } from './bus-flags.js';
import { terminalLayout } from './layouts.js';
import { nameOf } from './names.js';

type Flags = BusFlags & {
  readonly filename: readonly string[];
  readonly price: readonly GivenPrice[];
  readonly catalog?: string;
  readonly output: 'table' | 'json';
  readonly wide: boolean;
};

type GivenPrice = { readonly text: string; readonly change: PriceChange };

function price(text: string, before: readonly GivenPrice[]): readonly GivenPrice[] {
  const change = priceChangeOf(text);
  if (change === undefined)
    throw new InvalidArgumentError(
      'write what it is of (TYPE, TYPE/ZONE or TYPE/ZONE/CAPACITY-TYPE), = and US dollars an hour above 0, such as m5.large=0.05 or c5.xlarge/us-west-2a/spot=0.2.',
    );
  return [...before, { text, change }];
}

const requestOf = (name: string, flags: Flags, environment: Environment): ReplayRequest => ({
  name,
  bus: busRequestOf(flags, environment),
  output: flags.output,
  layout: terminalLayout(flags),
  paths: flags.filename,
  prices: flags.price.map(({ change }) => change),
  ...(flags.catalog === undefined ? {} : { catalog: flags.catalog }),
  written: [
    ...flags.filename.map((file) => `-f ${file}`),
    ...(flags.catalog === undefined ? [] : [`--catalog ${flags.catalog}`]),
    ...flags.price.map(({ text }) => `--price ${text}`),
  ],
});

const examples = `
A solver keeps what each plan was made from: pods, nodes, pools, types with their prices, and when its time was over. So the same
plan is made again here, however fast this machine is, and is compared by its id, which follows from its content. Records stay for a
day, and 256 MiB of them at most; a decision that no plan was made for, such as the end of an empty node, has none.
With -f, --catalog or --price the same question is asked under other conditions. The recorded search stops after as many steps as it
did then, so such an answer is as good as the plan that was made, and no better.

Examples:
  $ dovetail replay plan/3f9c                                   # the beginning of a decision's id is enough
  $ dovetail decisions --kind plan -o json | jq -r .planId | xargs -n1 dovetail replay
  $ dovetail replay plan/3f9c --price m5.large=0.05 --price 'c5.xlarge/us-west-2a/spot=0.2'
  $ dovetail replay plan/3f9c -f nodepool.yaml                  # the pool as it would be
  $ dovetail replay plan/3f9c --catalog us-west-2 -o json | jq '.now.priceMicrosPerHour - .recorded.priceMicrosPerHour'

Exit codes: 0 the same, or made with changes; 2 this release plans otherwise; 64 bad flags or files; 66 no such decision or record;
69 NATS cannot be read.`;

/** `dovetail replay DECISION` makes the plan of a decision again. */
export function addReplay(program: Command, environment: Environment): void {
  const command = program
    .command('replay')
    .description('Make the plan of a decision again: the same bytes, or what would differ.')
    .argument(
      '<decision>',
      'the id of a decision or of a plan, or its beginning',
      nameOf('the id of a decision, or its beginning, as dovetail decisions -o json prints it'),
    )
    .option<readonly string[]>(
      '-f, --filename <path>',
      'manifests of pools that take the place of those of the same name; may be repeated',
      (path, before) => [...before, path],
      [],
    )
    .option<readonly GivenPrice[]>(
      '--price <what=dollars>',
      'another price, in US dollars an hour, of what TYPE, TYPE/ZONE or TYPE/ZONE/CAPACITY-TYPE names, such as m5.large=0.05; may be repeated, and of two prices of one offering the last counts',
      price,
      [],
    )
    .option(
      '--catalog <name>',
      "a region, or a file in the KWOK provider's format: the recorded types at its prices",
    )
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option('--wide', "whole lines, even if they are longer than the terminal's", false);
  withConnection(command, environment)
    .addHelpText('after', examples)
    .action(async (name: string, flags: Flags) => {
      // NATS, the contracts and the planner are loaded here, so that other commands start at once.
      const { runReplay } = await import('../replay/run.js');
      process.exitCode = await runReplay(requestOf(name, flags, environment), terminal);
    });
}
