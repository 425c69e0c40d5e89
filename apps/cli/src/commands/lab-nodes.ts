import { type Command, Option } from 'commander';

import { noticeOption } from './lab-flags.js';
import { exampleText, pull, undoOption } from './lab-lever.js';

/** The status checks of EC2. */
const checks = ['instance', 'system'] as const;

function addInterrupt(lab: Command): void {
  noticeOption(
    lab
      .command('interrupt')
      .description('EC2 takes a Spot node, two minutes after its notice.')
      .argument('<node>', 'the node'),
  )
    .addHelpText(
      'after',
      exampleText([
        'interrupt default-6x2vq',
        'interrupt ip-10-0-0-4.us-west-2.compute.internal --notice 20s',
      ]),
    )
    .action((node: string, { notice }: { notice: number }) =>
      pull((twin, { interrupt }) => interrupt(twin, node, notice)),
    );
}

function addRebalance(lab: Command): void {
  lab
    .command('rebalance')
    .description('EC2 recommends to leave a Spot node, which it may take soon.')
    .argument('<node>', 'the node')
    .addHelpText('after', exampleText(['rebalance default-6x2vq']))
    .action((node: string) => pull((twin, { rebalance }) => rebalance(twin, node)));
}

function addStop(lab: Command): void {
  lab
    .command('stop')
    .description("A node's instance is stopped, as by hand in AWS' console.")
    .argument('<node>', 'the node')
    .addHelpText('after', exampleText(['stop default-6x2vq']))
    .action((node: string) => pull((twin, { stop }) => stop(twin, node)));
}

function addRetire(lab: Command): void {
  lab
    .command('retire')
    .description("EC2 announces that it retires a node's hardware in two weeks.")
    .argument('<node>', 'the node')
    .addHelpText('after', exampleText(['retire default-6x2vq']))
    .action((node: string) => pull((twin, { retire }) => retire(twin, node)));
}

function addImpair(lab: Command): void {
  lab
    .command('impair')
    .description('A status check of EC2 fails for a node, or passes again.')
    .argument('<node>', 'the node')
    .addOption(new Option('--check <check>', 'which check').choices(checks).default('instance'))
    .option(...undoOption)
    .addHelpText(
      'after',
      exampleText(['impair default-6x2vq', 'impair default-6x2vq --check system --undo']),
    )
    .action((node: string, flags: { check: (typeof checks)[number]; undo: boolean }) =>
      pull((twin, { impair }) => impair(twin, node, flags)),
    );
}

/** Adds the levers that name one node. */
export function addNodeLevers(lab: Command): void {
  addInterrupt(lab);
  addRebalance(lab);
  addStop(lab);
  addRetire(lab);
  addImpair(lab);
}
