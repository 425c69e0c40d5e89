import { parseDurationMs, type Resources } from '@dovetail/core-kube-model';
import {
  assumedRequestsOf,
  defaultAssumedRequests,
  defaultSizing,
  permilleOf,
} from '@dovetail/core-scheduling/sizing';
import { type Command, InvalidArgumentError, Option } from 'commander';

import { sentence } from '../layout/sentence.js';
import { readVersions } from '../simulate/read-kinds.js';
import type { OutputFormat, SimulateRequest } from '../simulate/run.js';
import { terminal } from '../terminal.js';
import { terminalLayout } from './layouts.js';

const budgetMaxMs = 3_600_000;

function budget(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0 || ms > budgetMaxMs)
    throw new InvalidArgumentError('write a duration from 0 to 1h, such as 200ms or 5s.');
  return ms;
}

/**
 * The counted steps for the lower bound when the plan is improved: one to three seconds of a core.
 * They trade the distance to the bound that is shown for the wait of the user.
 */
export const boundStepsByDefault = 30_000;

/** Time for improving the first plan. It trades the price of the plan for the wait of the user. */
const budgetMsByDefault = 200;

/** Time for searching commands over 500 nodes. It trades savings for the wait of the user. */
const searchMsByDefault = 10_000;

function wholeNumber(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text))
    throw new InvalidArgumentError('write a whole number of at most nine digits.');
  return Number(text);
}

/** The effort for the bound was a time once, and then the output depended on the machine. */
function boundTimeIsGone(): never {
  throw new InvalidArgumentError(
    `the bound no longer depends on time: write --bound-steps, such as ${boundStepsByDefault}.`,
  );
}

function dollars(text: string): number {
  if (!/^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(text))
    throw new InvalidArgumentError('write US dollars per hour, such as 12.50.');
  return Number(text);
}

function permille(text: string): number {
  const read = permilleOf(text);
  if (read === undefined)
    throw new InvalidArgumentError('write a percentage from 0 to 10, such as 1 or 1.5.');
  return read;
}

function amounts(text: string): Resources {
  const read = assumedRequestsOf(text);
  if (read === undefined)
    throw new InvalidArgumentError(
      `write cpu and memory, such as ${defaultAssumedRequests}, or none.`,
    );
  return read;
}

function zoneNames(text: string): readonly string[] {
  const zones = text.split(',').map((zone) => zone.trim());
  if (zones.includes('')) throw new InvalidArgumentError('write names of zones with commas.');
  return zones;
}

type Environment = Readonly<Record<string, string | undefined>>;

type Flags = {
  readonly file?: readonly string[];
  readonly catalog?: string;
  readonly region?: string;
  readonly zones?: readonly string[];
  readonly output: OutputFormat;
  readonly budget?: number;
  readonly boundSteps?: number;
  readonly seed: number;
  readonly failOverCost?: number;
  readonly explain?: string;
  readonly strict?: boolean;
  readonly consolidate?: boolean;
  readonly spotToSpot?: boolean;
  readonly moveCost?: number;
  readonly nodeCharge: number;
  readonly fewerNodesWithin: number;
  readonly assumedRequests: Resources;
  readonly hostnameSpread: 'balanced' | 'strict';
  readonly preferences: 'respect' | 'ignore';
  readonly minValues: 'strict' | 'best-effort';
  readonly wide: boolean;
};

const requestOf = (flags: Flags, environment: Environment): SimulateRequest => {
  const ofKind = flags.consolidate === true ? searchMsByDefault : budgetMsByDefault;
  const region = environment['AWS_REGION'] ?? '';
  return {
    ...requestWithin(flags.budget ?? ofKind, flags),
    ...(region === '' ? {} : { environmentRegion: region }),
  };
};

const requestWithin = (budgetMs: number, flags: Flags): SimulateRequest => ({
  paths: flags.file ?? [],
  ...(flags.catalog === undefined ? {} : { catalog: flags.catalog }),
  ...(flags.region === undefined ? {} : { region: flags.region }),
  ...(flags.zones === undefined ? {} : { zones: flags.zones }),
  output: flags.output,
  layout: terminalLayout(flags),
  budgetMs,
  seed: flags.seed,
  sizing: {
    nodeChargeMicrosPerHour: Math.round(flags.nodeCharge * 1_000_000),
    fewerNodesPermille: flags.fewerNodesWithin,
    assumedRequests: flags.assumedRequests,
  },
  boundSteps: flags.boundSteps ?? (budgetMs > 0 ? boundStepsByDefault : 0),
  ...(flags.failOverCost === undefined ? {} : { failOverCost: flags.failOverCost }),
  ...(flags.explain === undefined ? {} : { explain: flags.explain }),
  ...(flags.strict === undefined ? {} : { strict: flags.strict }),
  hostnameSpread: flags.hostnameSpread,
  preferences: flags.preferences === 'ignore' ? 'Ignore' : 'Respect',
  minValues: flags.minValues === 'best-effort' ? 'BestEffort' : 'Strict',
});

const examples = `
Reads these kinds, and names the others. A CronJob counts as one run. Needs no cluster, no AWS account and no network.
${sentence([...readVersions.keys()].sort().join(' '), { width: 111 })}

Examples:
  $ dovetail simulate -f examples/web
  $ dovetail simulate -f pools.yaml -f workloads/ --catalog eu-west-1
  $ dovetail simulate -f world.yaml --catalog kwok-types.json.gz -o json
  $ dovetail simulate -f world.yaml --explain default/web-3
  $ dovetail simulate -f . --fail-over-cost 20 || echo "too dear, or not placed"
  $ kubectl get nodes,nodeclaims,pods,nodepools,ec2nodeclasses -A -o yaml | dovetail simulate -f -
  $ kubectl get nodes,nodeclaims,pods,pdb,nodepools,ec2nodeclasses -A -o yaml | dovetail simulate -f - --consolidate

With --consolidate, each row is one command: nodes to give up, nodes to buy for them, and the pods that move. Each saves money
by itself, and can be done without the others. Budgets, PodDisruptionBudgets, do-not-disrupt and consolidation policies hold;
consolidateAfter counts as over. AFTER/H is the price of the nodes that a command buys.

Objects that cannot be read, misspelt kinds and unknown fields are named with their lines, and the rest is planned.

Exit codes: 0 all pods are placed; 2 some are not; 3 the plan costs more than --fail-over-cost; 4 some objects were left out of
the plan; 64 bad input: nothing could be planned, or something was left out and --strict is given.`;

/** The flags that say where nodes would be, and which types there are. */
const withPlace = (command: Command): Command =>
  command
    .option(
      '--catalog <file|region>',
      "instance types: a JSON file (.gz too) in the KWOK provider's format, or an AWS region",
    )
    .option(
      '--region <region>',
      'the AWS region (default: that of --catalog, --zones or the subnets of the classes, then AWS_REGION, then us-east-1)',
    )
    .option(
      '--zones <zones>',
      'the zones of classes whose status names no subnets, such as us-east-1a,us-east-1b (default: all of the region)',
      zoneNames,
    );

/** The flags that name the input and the form of the output. */
const withFiles = (command: Command): Command =>
  command
    .argument('[path...]', 'no paths: they are written behind -f')
    .option('-f, --file <path...>', 'manifests: files, folders, or - for standard input')
    .addOption(
      new Option('-o, --output <format>', 'how to print the plan')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .option('--wide', "whole lines, even if they are longer than the terminal's", false)
    .option(
      '--node-charge <dollars>',
      'what a node costs per hour beside its instance; more of it buys fewer, larger nodes',
      dollars,
      defaultSizing.nodeChargeMicrosPerHour / 1_000_000,
    )
    .addOption(
      new Option(
        '--fewer-nodes-within <percent>',
        'of plans within this much of the least price, take the one with the fewest nodes',
      )
        .argParser(permille)
        .default(defaultSizing.fewerNodesPermille, String(defaultSizing.fewerNodesPermille / 10)),
    )
    .addOption(
      new Option(
        '--assumed-requests <amounts>',
        'the cpu and memory that a new node counts for a pod that requests none, or none',
      )
        .argParser(amounts)
        .default(assumedRequestsOf(defaultAssumedRequests), defaultAssumedRequests),
    );

/** The flags that say when the command fails, and the one about a single pod. */
const withChecks = (command: Command): Command =>
  command
    .option('--fail-over-cost <dollars>', 'end with 3 when the plan costs more per hour', dollars)
    .option(
      '--strict',
      'end with 64, and plan nothing, if the input has a field or kind that does not exist, or an object that cannot be read',
    )
    .option('--explain <pod>', 'say where this pod goes and why (name, or namespace/name)');

/** The flags about nodes that run. */
const withRunning = (command: Command): Command =>
  command
    .option(
      '--consolidate',
      'say which running nodes to give up, which to buy and which pods to move, to pay less',
    )
    .option('--spot-to-spot', 'with --consolidate: also replace Spot nodes by cheaper Spot nodes')
    .option(
      '--move-cost <dollars>',
      'with --consolidate: what the move of an ordinary pod must save an hour (default: 0.001)',
      dollars,
    );

/** The flags that guide the search. */
const withSearch = (command: Command): Command =>
  command
    .option(
      '--budget <duration>',
      'time for improving the first plan (default: 200ms), or for --consolidate (default: 10s)',
      budget,
    )
    .option(
      '--bound-steps <number>',
      `counted steps for proving a lower bound of the price, some 20 in a millisecond (default: ${boundStepsByDefault}; none when the budget is 0)`,
      wholeNumber,
    )
    .addOption(new Option('--bound-time <duration>').hideHelp().argParser(boundTimeIsGone))
    .option(
      '--seed <number>',
      'seed of every random choice; the same seed gives the same plan',
      wholeNumber,
      1,
    )
    .addOption(
      new Option(
        '--hostname-spread <mode>',
        'how a hostname spread counts: strict lets the emptiest node count as 0, as Karpenter does',
      )
        .choices(['balanced', 'strict'])
        .default('balanced'),
    )
    .addOption(
      new Option('--preferences <mode>', 'whether preferred affinity and ScheduleAnyway count')
        .choices(['respect', 'ignore'])
        .default('respect'),
    )
    .addOption(
      new Option(
        '--min-values <mode>',
        'whether a node may have fewer instance types than minValues asks for',
      )
        .choices(['strict', 'best-effort'])
        .default('strict'),
    );

/** Ends with the usage code unless -f names the input. Says so if the terminal is read. */
function checkFlags(command: Command, paths: readonly string[], flags: Flags): void {
  const { file = [], consolidate, spotToSpot, moveCost } = flags;
  if (consolidate !== true && (spotToSpot === true || moveCost !== undefined))
    command.error('error: --spot-to-spot and --move-cost guide --consolidate: add it');
  if (paths.length > 0)
    command.error(`error: files and folders need a flag: write -f ${paths.join(' -f ')}`);
  if (file.length === 0)
    command.error('error: there is nothing to read: write -f with a file or folder, or -f -');
  if (file.includes('-') && process.stdin.isTTY)
    terminal.err('reading manifests from this terminal until Ctrl-D\n');
}

/** `dovetail simulate` reads manifests and prints a plan. */
export function addSimulate(program: Command, environment: Environment): void {
  const command = program
    .command('simulate')
    .description('Plan nodes for the pods in manifests, offline, and say what they cost.');
  withSearch(withRunning(withChecks(withPlace(withFiles(command)))))
    .addHelpText('after', examples)
    .action(async (paths: readonly string[], flags: Flags) => {
      checkFlags(command, paths, flags);
      if (flags.consolidate === true) {
        const { runConsolidate } = await import('../consolidate/command.js');
        const { spotToSpot = false, moveCost } = flags;
        const request = { ...requestOf(flags, environment), spotToSpot, moveCost };
        process.exitCode = await runConsolidate(request, terminal);
        return;
      }
      // The planner and the catalog are loaded here, so that --help and other commands start at
      // once.
      const { runSimulate } = await import('../simulate/run.js');
      process.exitCode = await runSimulate(requestOf(flags, environment), terminal);
    });
}
