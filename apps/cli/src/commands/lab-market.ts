import { type Command, InvalidArgumentError, Option } from 'commander';

import type { Pools } from '../lab/levers.js';
import { noticeOption, wholeNumber } from './lab-flags.js';
import { exampleText, pull, undoOption } from './lab-lever.js';

const places = (text: string): number | 'unlimited' =>
  text === 'none' ? 0 : text === 'unlimited' ? text : wholeNumber(text);

function factor(text: string): number {
  const value = Number(text);
  if (!/^[0-9.]+$/.test(text) || !(value >= 0.01 && value <= 1_000))
    throw new InvalidArgumentError('write a factor from 0.01 to 1000, such as 1.5.');
  return value;
}

const withPools = (command: Command): Command =>
  command
    .option('--type <type>', 'only this instance type, such as m6g.2xlarge (default: all)')
    .option('--zone <zone>', 'only this zone (default: all)');

function addCapacity(lab: Command): void {
  withPools(
    lab
      .command('capacity')
      .description('EC2 has only so many more instances to give: none, a number, or unlimited.')
      .argument('<free>', 'how many more of each type and zone', places),
  )
    .addOption(
      new Option('--capacity-type <type>', 'only this way to buy').choices(['on-demand', 'spot']),
    )
    .addHelpText(
      'after',
      exampleText(
        [
          'capacity none --type m6g.2xlarge --zone us-west-2a',
          'capacity none --capacity-type spot',
          'capacity unlimited',
        ],
        'The last order that fits a type, zone and way to buy holds for it.',
      ),
    )
    .action((free: number | 'unlimited', flags: Pools) =>
      pull((twin, { capacity }) => capacity(twin, free, flags)),
    );
}

function addDrainZone(lab: Command): void {
  noticeOption(
    lab
      .command('drain-zone')
      .description('EC2 launches nothing more in a zone, and takes its Spot nodes.')
      .argument('<zone>', 'the zone'),
  )
    .option(...undoOption)
    .addHelpText(
      'after',
      exampleText(
        ['drain-zone us-west-2a', 'drain-zone us-west-2a --undo'],
        'On-demand nodes stay. --undo lets EC2 launch there again; notices stand.',
      ),
    )
    .action((zone: string, { notice: noticeMs, undo }: { notice: number; undo: boolean }) =>
      pull((twin, { drainZone }) => drainZone(twin, zone, { noticeMs, undo })),
    );
}

function addPrice(lab: Command): void {
  withPools(
    lab
      .command('price')
      .description('Spot costs so many times what the twin draws for it; 1 ends it.')
      .argument('<factor>', 'how many times', factor),
  )
    .option('--family <family>', 'only this family, such as m6g (default: all)')
    .addHelpText(
      'after',
      exampleText(
        ['price 3 --family m6g', 'price 0.5 --zone us-west-2b', 'price 1'],
        'The launcher sees it when it next reads prices. On-demand prices do not move.',
      ),
    )
    .action((times: number, flags: Omit<Pools, 'capacityType'>) =>
      pull((twin, { price }) => price(twin, times, flags)),
    );
}

/** Adds the levers of EC2's capacity and prices. */
export function addMarketLevers(lab: Command): void {
  addCapacity(lab);
  addDrainZone(lab);
  addPrice(lab);
}
