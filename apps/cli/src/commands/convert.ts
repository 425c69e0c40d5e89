import { awsSettings } from '@dovetail/runtime';
import { type Command, InvalidArgumentError, Option } from 'commander';

import { terminal } from '../terminal.js';

function region(text: string): string {
  try {
    return awsSettings.region.parse(text);
  } catch {
    throw new InvalidArgumentError('write a region, such as us-west-2.');
  }
}

type KubernetesVersion = { readonly major: number; readonly minor: number };

function kubernetesVersion(text: string): KubernetesVersion {
  const [, major, minor] = /^v?(\d{1,2})\.(\d{1,3})$/.exec(text) ?? [];
  if (major === undefined || minor === undefined)
    throw new InvalidArgumentError('write a version of Kubernetes, such as 1.34.');
  return { major: Number(major), minor: Number(minor) };
}

const objectsExamples = `
Brings Provisioner, AWSNodeTemplate, and v1beta1 NodePool, EC2NodeClass and NodeClaim to v1. Each changed field gets a note: a comment
above the object, and a line on standard error. Pods that ask for a Provisioner by its label ask for the NodePool. Other objects
stay as they are, all in their order. An object that has no form
in v1 is left out and named. \`dovetail convert values\` turns the values of Karpenter's chart.

Examples:
  $ dovetail convert -f pools.yaml --instance-profile KarpenterNodeInstanceProfile-my-cluster > v1.yaml
  $ kubectl get provisioners,awsnodetemplates -o yaml | dovetail convert -f - --role KarpenterNodeRole-my-cluster
  $ dovetail convert -f manifests -o json

Exit codes: 0 converted; 4 some objects were left out; 64 bad flags, or no objects.`;

const valuesExamples = `
Reads the values of Karpenter's chart (1.15 and older), prints those of Dovetail's, and says on standard error what it did not take
and why. Values that are Karpenter's own defaults are left out, so that Dovetail's defaults hold. The result brings NATS
servers of the chart's own.

Examples:
  $ helm get values karpenter --namespace kube-system --output yaml | dovetail convert values - --region us-west-2 > values.yaml
  $ dovetail convert values karpenter-values.yaml

Exit codes: 0 converted; 64 bad flags, or no file of values.`;

function addValues(convert: Command): void {
  convert
    .command('values')
    .description("Turn the values of Karpenter's chart into those of Dovetail's.")
    .argument('<file>', 'the file; - is standard input')
    .option(
      '--region <region>',
      'the AWS region of the nodes (default: AWS_REGION in the file)',
      region,
    )
    .addHelpText('after', valuesExamples)
    .action(async (file: string, flags: { readonly region?: string }) => {
      const { runConvert } = await import('../convert/run.js');
      process.exitCode = await runConvert({ file, ...flags }, terminal);
    });
}

type Flags = {
  readonly file?: readonly string[];
  readonly output: 'yaml' | 'json';
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly kubernetesVersion: KubernetesVersion;
};

/**
 * `dovetail convert` brings Karpenter's older objects to v1, and `convert values` turns its values
 * into those of Dovetail's chart.
 */
export function addConvert(program: Command): void {
  const convert: Command = program
    .command('convert')
    .description("Bring Karpenter's older objects, or the values of its chart, to those of today.")
    .option('-f, --file <paths...>', 'files or folders of manifests; - is standard input')
    .addOption(
      new Option('-o, --output <format>', 'the form of the output')
        .choices(['yaml', 'json'])
        .default('yaml'),
    )
    .addOption(
      new Option('--role <name>', 'the role of nodes whose class names no profile').conflicts(
        'instanceProfile',
      ),
    )
    .option('--instance-profile <name>', 'the instance profile of nodes whose class names none')
    .addOption(
      new Option(
        '--kubernetes-version <version>',
        'decides the images of a class that names no family, or Ubuntu',
      )
        .argParser(kubernetesVersion)
        .default({ major: 1, minor: 34 }, '1.34'),
    )
    .addHelpText('after', objectsExamples)
    .action(async ({ file, kubernetesVersion: kubernetes, ...flags }: Flags) => {
      if (file === undefined)
        return convert.error("error: required option '-f, --file <paths...>' not specified", {
          exitCode: 64,
          code: 'commander.missingMandatoryOptionValue',
        });
      const { runConvertObjects } = await import('../convert/objects/run.js');
      process.exitCode = await runConvertObjects({ ...flags, paths: file, kubernetes }, terminal);
    });
  addValues(convert);
}
