import { parseDurationMs } from '@dovetail/core-kube-model';
import { type Command, InvalidArgumentError, Option } from 'commander';

import type { ShadowRequest } from '../shadow/request.js';
import { terminal } from '../terminal.js';

type Environment = Readonly<Record<string, string | undefined>>;

type Flags = {
  readonly catalog: string;
  readonly output: 'table' | 'json';
  readonly consolidation: ShadowRequest['consolidation'];
  readonly prices?: string;
  readonly for?: number;
  readonly budget: number;
  readonly kubeconfig?: string;
};

/** Time for improving each plan, as a solver has by default. */
const budgetMsByDefault = 200;

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0)
    throw new InvalidArgumentError('write a duration such as 200ms, 10m or 24h.');
  return ms;
}

function address(text: string): string {
  if (!/^https?:\/\/\S+$/.test(text))
    throw new InvalidArgumentError('write an address such as http://127.0.0.1:8080/metrics.');
  return text;
}

const examples = `
Runs beside a live Karpenter and only watches: it needs to list and watch nodes, pods, NodeClaims and what planning reads, and
writes nothing. When Karpenter makes NodeClaims or begins to end nodes, Dovetail's planner plans for the same pods, on the cluster
as it was just before. Each comparison says what Karpenter did, what Dovetail would have done, and the difference per hour. Each
starts from the cluster as Karpenter left it, so differences of many rounds do not add up to a bill. Launches and ends while the API
server cannot be reached are not compared, nor are launches that no pod waited for. The command says how many.

Prices are the bundled catalog's, which has none of Spot: such offerings cost as on-demand. With --prices both sides count with
the prices that Karpenter knows, Spot included.

Examples:
  $ dovetail shadow --catalog eu-west-1 --for 24h
  $ kubectl -n kube-system port-forward deployment/karpenter 8080 & dovetail shadow --prices http://127.0.0.1:8080/metrics
  $ dovetail shadow -o json | jq 'select(.difference < 0)'

Exit codes: 0 ended by a signal or --for; 64 bad flags; 69 the cluster cannot be read.`;

const requestOf = (flags: Flags): ShadowRequest => ({
  catalog: flags.catalog,
  output: flags.output,
  consolidation: flags.consolidation,
  budgetMs: flags.budget,
  ...(flags.prices === undefined ? {} : { prices: flags.prices }),
  ...(flags.for === undefined ? {} : { forMs: flags.for }),
});

const withFlags = (command: Command, environment: Environment): Command =>
  command
    .option(
      '--catalog <region|file>',
      "the AWS region of the cluster, or a file of types in the KWOK provider's format",
      environment['AWS_REGION'] || 'us-east-1',
    )
    .option(
      '--prices <url>',
      "Karpenter's metrics, for its prices (default: the catalog's)",
      address,
    )
    .addOption(
      new Option(
        '--consolidation <mode>',
        "which under-used nodes Dovetail would give up: the reaper's setting CONSOLIDATION",
      )
        .choices(['none', 'delete', 'replace', 'all', 'search'])
        .default('all'),
    )
    .option('--for <duration>', 'end after this time (default: at a signal)', duration)
    .addOption(
      new Option('--budget <duration>', 'time for improving each plan')
        .argParser(duration)
        .default(budgetMsByDefault, `${String(budgetMsByDefault)}ms`),
    )
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option('--kubeconfig <file>', 'the cluster (default: KUBECONFIG, then as kubectl)');

/** `dovetail shadow` compares a live Karpenter with Dovetail's plans. */
export function addShadow(program: Command, environment: Environment): void {
  const command = program
    .command('shadow')
    .description(
      'Watch a live Karpenter and say what Dovetail would have done, and what it costs.',
    );
  withFlags(command, environment)
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      // The planner and the client are loaded here, so that other commands start at once.
      const { shadowLive } = await import('../shadow/live.js');
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      process.stdout.once('error', () => stop.abort());
      process.exitCode = await shadowLive(
        requestOf(flags),
        flags.kubeconfig,
        terminal,
        stop.signal,
      );
    });
}
