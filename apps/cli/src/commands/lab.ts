import { type Command, Option } from 'commander';

import { addCallLevers } from './lab-calls.js';
import { codes, exampleText, pull, watch } from './lab-lever.js';
import { addMarketLevers } from './lab-market.js';
import { addNodeLevers } from './lab-nodes.js';
import { addTimeLevers } from './lab-time.js';
import { terminalLayout } from './layouts.js';

const examples = `
Levers of the cloud twin that a lab of this folder runs (make lab). NODE is the name of a Node or of its NodeClaim, or an instance id.
${watch}

Examples:
  $ dovetail lab instances
  $ dovetail lab interrupt default-6x2vq          # a Spot node goes in two minutes
  $ dovetail lab drain-zone us-west-2a
  $ dovetail lab fail ec2:CreateFleet --code InternalError --times 3
  $ dovetail lab price 3 --zone us-west-2b        # Spot costs three times as much there
  $ dovetail lab clock 1h
${codes}`;

/** `dovetail lab …` moves the levers of the lab that runs in this folder. */
export function addLab(program: Command): void {
  const lab = program
    .command('lab')
    .description('Let AWS misbehave in the lab of this folder: levers of its cloud twin.')
    .addHelpText('after', examples);
  lab
    .command('instances')
    .description("List the lab's instances, the oldest first.")
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      exampleText([
        'instances',
        'instances -o json | jq -r \'.instances[] | select(.capacityType == "spot") | .node\'',
      ]),
    )
    .action(async ({ output }: { output: 'table' | 'json' }) => {
      const { instancesText } = await import('../lab/instances.js');
      await pull((twin) => instancesText(twin, output, terminalLayout()));
    });
  lab
    .command('calls')
    .description('Count the calls of AWS by action: all, those that failed, those throttled.')
    .addHelpText('after', exampleText(['calls']))
    .action(async () => {
      const { callsText } = await import('../lab/instances.js');
      await pull((twin) => callsText(twin, terminalLayout()));
    });
  addNodeLevers(lab);
  addMarketLevers(lab);
  addCallLevers(lab);
  addTimeLevers(lab);
}
