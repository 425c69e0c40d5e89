import type { DecisionKind } from '@dovetail/contracts';
import { parseDurationMs } from '@dovetail/core-kube-model';
import { type Command, InvalidArgumentError, Option } from 'commander';

import type { DecisionsRequest } from '../decisions/request.js';
import { terminal } from '../terminal.js';
import { type BusFlags, busRequestOf, type Environment, withConnection } from './bus-flags.js';
import { terminalLayout } from './layouts.js';

/**
 * The kinds of decisions. The list is repeated here so that parsing a command line does not load
 * the contracts. A test keeps both lists equal.
 */
export const kindChoices = [
  'plan',
  'admit',
  'refuse',
  'launch',
  'launch-failed',
  'register',
  'initialize',
  'unschedulable',
  'command',
  'disrupt',
  'interrupt',
  'drain',
  'terminate',
  'collect',
  'gap',
] as const satisfies readonly DecisionKind[];

/** The stream keeps decisions this long (docs/contracts.md). */
const sinceMaxMs = 7 * 24 * 3_600_000;

function since(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0 || ms > sinceMaxMs)
    throw new InvalidArgumentError(
      'write a duration from 0s to 168h (decisions are kept for 7 days), such as 10m or 1h30m.',
    );
  return ms;
}

type Flags = BusFlags & {
  readonly follow: boolean;
  readonly output: 'table' | 'json';
  readonly kind?: readonly DecisionKind[];
  readonly pool?: string;
  readonly about?: string;
  readonly since?: number;
  readonly wide: boolean;
};

const requestOf = (flags: Flags, environment: Environment): DecisionsRequest => ({
  follow: flags.follow,
  output: flags.output,
  layout: terminalLayout(flags),
  ...busRequestOf(flags, environment),
  ...(flags.kind === undefined ? {} : { kinds: flags.kind }),
  ...(flags.pool === undefined ? {} : { pool: flags.pool }),
  ...(flags.about === undefined ? {} : { about: flags.about }),
  ...(flags.since === undefined ? {} : { sinceMs: flags.since }),
});

const examples = `
A decision is a fact: what a service decided, why, and what it costs. NATS keeps decisions for 7 days; reading them
changes nothing. A price with ~ is estimated, because the region publishes none. JSON prints one line per decision with
all its fields: objects, reasons with the values compared, alternatives, the lower bound.

Examples:
  $ dovetail decisions
  $ dovetail decisions --follow --since 0s            # only what comes from now on
  $ dovetail decisions --kind launch launch-failed --pool default --since 1h
  $ dovetail decisions --about default/web-6d4cf56db6-x7k2p   # a pod's story, with that of the node it was given
  $ dovetail decisions -o json | jq -r 'select(.kind == "unschedulable") | .reasons[].code' | sort | uniq -c
  $ dovetail decisions --nats nats://nats.dovetail.svc:4222 --cluster production

Exit codes: 0 done, even if there was nothing to show; 64 bad flags; 69 NATS cannot be reached, refuses, or has no
decisions of that cluster (with --follow the command waits for both).`;

/** The flags that choose decisions. */
const withSelection = (command: Command): Command =>
  command
    .option('-F, --follow', 'stay, and show each decision as it is made', false)
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .addOption(new Option('--kind <kind...>', 'only these kinds').choices(kindChoices))
    .option('--pool <pool>', 'only decisions about this pool: a name, or Provisioner/name')
    .option(
      '--about <object>',
      'only decisions about this pod (namespace/name), node, claim or instance, and the claims that they name',
    )
    .option('--wide', "whole lines, even if they are longer than the terminal's", false)
    .option(
      '--since <duration>',
      'only decisions of this last period, such as 1h (default: all that NATS keeps)',
      since,
    );

/** `dovetail decisions` shows the services' decisions, from the stream that anyone may read. */
export function addDecisions(program: Command, environment: Environment): void {
  const command = program
    .command('decisions')
    .description(
      'Show what the services decided, with reasons and prices; --follow shows new ones too.',
    );
  withConnection(withSelection(command), environment)
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      // NATS and the contracts are loaded here, so that other commands start at once.
      const { runDecisions } = await import('../decisions/run.js');
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      process.stdout.once('error', () => stop.abort());
      process.exitCode = await runDecisions(requestOf(flags, environment), terminal, stop.signal);
    });
}
