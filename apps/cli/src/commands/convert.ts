import { awsSettings } from '@dovetail/runtime';
import { Argument, type Command, InvalidArgumentError } from 'commander';

import { terminal } from '../terminal.js';

type Flags = { readonly region?: string };

function region(text: string): string {
  try {
    return awsSettings.region.parse(text);
  } catch {
    throw new InvalidArgumentError('write a region, such as us-west-2.');
  }
}

const examples = `
Reads the values of Karpenter's chart (1.14 and older), prints those of Dovetail's, and says on standard error what it did not take
and why. Values that are Karpenter's own defaults are left out, so that Dovetail's defaults hold. The result brings NATS
servers of the chart's own.

Examples:
  $ helm get values karpenter --namespace kube-system --output yaml | dovetail convert values - --region us-west-2 > values.yaml
  $ dovetail convert values karpenter-values.yaml

Exit codes: 0 converted; 64 bad flags, or no file of values.`;

/** `dovetail convert` turns Karpenter's values into those of Dovetail's chart. */
export function addConvert(program: Command): void {
  program
    .command('convert')
    .description("Turn the values of Karpenter's chart into those of Dovetail's.")
    .addArgument(new Argument('<what>', 'what the file holds').choices(['values']))
    .argument('<file>', 'the file; - is standard input')
    .option(
      '--region <region>',
      'the AWS region of the nodes (default: AWS_REGION in the file)',
      region,
    )
    .addHelpText('after', examples)
    .action(async (_what: string, file: string, flags: Flags) => {
      const { runConvert } = await import('../convert/run.js');
      process.exitCode = runConvert({ file, ...flags }, terminal);
    });
}
