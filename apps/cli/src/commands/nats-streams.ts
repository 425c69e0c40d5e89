import { type Command, InvalidArgumentError } from 'commander';

import { terminal } from '../terminal.js';
import { type BusFlags, busRequestOf, type Environment, withConnection } from './bus-flags.js';

type Flags = BusFlags & {
  readonly replicas: number;
  readonly sinks: boolean;
  readonly keep: boolean;
};

const examples = `
It is the one client that makes streams where NATS knows users: the user \`streams\` of \`dovetail nats-users\` may do
nothing else, and no service may do this. Run it before the services start, and after each upgrade. With --keep it
stays, and makes a stream again that is lost. The chart runs it so.

Examples:
  $ dovetail nats-streams --cluster production --nats nats://nats.nats.svc:4222 --nats-credentials nats/streams.nk
  $ dovetail nats-streams --cluster production --nats-credentials nats/streams.nk --replicas 3 --sinks --keep

Exit codes: 0 the streams are there; 64 bad flags; 69 NATS is away, refuses, or has a stream that it must not have.`;

/** `dovetail nats-streams` makes the streams of a cluster, for services that may not. */
export function addNatsStreams(program: Command, environment: Environment): void {
  const command = program
    .command('nats-streams')
    .description('Make the streams of a cluster on NATS, or bring them up to date.');
  withConnection(command, environment)
    .option(
      '--replicas <count>',
      'copies of each stream, 1 to 5 (default: NATS_REPLICAS, then 1); a stream that has more keeps them',
      copies,
      copies(environment['NATS_REPLICAS'] || '1'),
    )
    .option('--sinks', 'make the stream of dead letters, too, which sinks need', false)
    .option('--keep', 'stay, and make a stream again that is lost', false)
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      const { runStreams } = await import('../nats/run-streams.js');
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const request = { ...busRequestOf(flags, environment), ...flags };
      process.exitCode = await runStreams(request, terminal, stop.signal);
    });
}

function copies(text: string): number {
  if (/^[1-5]$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`"${text}" is no number of copies: give 1 to 5.`);
}
