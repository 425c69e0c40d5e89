import { createHash } from 'node:crypto';

import { connectNats, type NatsOptions, secretsOf } from '@dovetail/adapter-nats';
import {
  type Decision,
  type DecisionEvent,
  followDecisions,
  inboxOf,
  streamName,
} from '@dovetail/contracts';
import { type Bus, BusError, type Hash, type Log, messageOf } from '@dovetail/core-ports';
import { isBusReaderUrl, readBus } from '@dovetail/sim-bus';

import { labAddress, labFiles } from '../lab/addresses.js';
import { decisionsExitCodes, type DecisionsRequest } from './request.js';
import { jsonLine, Table } from './rows.js';
import { Selection } from './selection.js';

/** Where the command writes: results to `out`, messages for people to `err`. */
export type Output = { out(text: string): void; err(text: string): void };

const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };
const waitMs = 1_000;

/**
 * Prints decisions until the last one kept, or with `follow` until `stop`. Resolves to the exit
 * code, and writes errors to `err`. While NATS does not answer, a follower reports it and waits;
 * otherwise the command ends after 5 seconds.
 */
export async function runDecisions(
  request: DecisionsRequest,
  output: Output,
  stop: AbortSignal,
): Promise<number> {
  const options = natsOptions(request, output);
  if (options === undefined) return decisionsExitCodes.badInput;
  const { bus, close } = busOf(options);
  try {
    if (!(await streamIsThere(bus, request, options, output, stop)))
      return stop.aborted ? decisionsExitCodes.done : decisionsExitCodes.unavailable;
    await print(bus, request, output, stop);
    return decisionsExitCodes.done;
  } finally {
    await close();
  }
}

/** Connects to NATS, or to the bus inside the services' process of a lab that runs without NATS. */
function busOf(options: NatsOptions): { readonly bus: Bus; readonly close: () => Promise<void> } {
  const [server = ''] = options.servers;
  if (isBusReaderUrl(server)) return { bus: readBus(server), close: () => Promise.resolve() };
  const bus = connectNats(options);
  return { bus, close: () => bus.close() };
}

function natsOptions(request: DecisionsRequest, output: Output): NatsOptions | undefined {
  const servers = (request.nats ?? labAddress('nats') ?? 'nats://127.0.0.1:4222')
    .split(',')
    .map((server) => server.trim());
  try {
    return {
      servers,
      name: 'dovetail decisions',
      log: logTo(output),
      inboxPrefix: inboxOf(request.cluster, 'reader'),
      ...secretsOf(servers, request.secrets),
    };
  } catch (error) {
    output.err(
      `--nats-credentials ${request.secrets.natsCredentials}: ${messageOf(error)}; give the path of a .creds file or of an NKey seed\n`,
    );
    return undefined;
  }
}

/** Turns the connection's own warnings into sentences that say what it waits for. */
const logTo = (output: Output): Log => {
  const say = (_name: string, message: string): void => output.err(`${message}\n`);
  return { debug: () => undefined, info: () => undefined, warn: say, error: say };
};

/** Returns whether there are decisions to read. Only a follower waits for them, until `stop`. */
async function streamIsThere(
  bus: Bus,
  { cluster, follow }: DecisionsRequest,
  { servers }: NatsOptions,
  output: Output,
  stop: AbortSignal,
): Promise<boolean> {
  for (let tries = 0; !stop.aborted; tries += 1) {
    try {
      await bus.position(streamName(cluster, 'decisions'));
      return true;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (!follow || (tries === 0 && error.code === 'no-stream'))
        output.err(`${remedyOf(error, { cluster, servers })}${follow ? '; waiting for it' : ''}\n`);
      if (!follow) return false;
    }
    await pause(waitMs, stop);
  }
  return false;
}

function remedyOf(
  error: BusError,
  { cluster, servers }: { readonly cluster: string; readonly servers: readonly string[] },
): string {
  const at = servers.join(', ');
  switch (error.code) {
    case 'no-stream':
      return `NATS at ${at} has no decisions of a cluster named ${cluster}: check that --cluster (or CLUSTER_NAME) is the services' name for it, and that a service runs`;
    case 'denied':
      return `NATS at ${at} refuses: give --nats-credentials with the right to read the decisions`;
    case 'server-too-old':
      return `NATS at ${at} is too old: 2.11 or newer is needed`;
    case 'no-responders':
      return `NATS at ${at} runs without JetStream: start it with JetStream enabled`;
    case 'unavailable':
    case 'timeout':
      return `NATS at ${at} cannot be reached: give its address with --nats or NATS_URL (make lab starts one, and leaves its address in ${labFiles.nats})`;
    case 'too-large':
    case 'full':
    case 'wrong-last-sequence':
      return error.message;
  }
}

/**
 * Rows of kept decisions are laid out together, in the order of their times. Later ones, and JSON,
 * are printed as they come.
 */
async function print(
  bus: Bus,
  request: DecisionsRequest,
  output: Output,
  stop: AbortSignal,
): Promise<void> {
  const selection = new Selection(request, Date.now());
  const table = new Table();
  const kept: Decision[] = [];
  let live = false;
  let [read, shown] = [0, 0];
  const show = (decisions: readonly Decision[]): void =>
    output.out(
      request.output === 'json' ? decisions.map(jsonLine).join('') : table.lines(decisions),
    );
  for await (const event of followDecisions({ bus, cluster: request.cluster, hash }, stop, {
    ...(request.kinds === undefined ? {} : { kinds: request.kinds }),
  })) {
    if (event.kind === 'decision') {
      read += 1;
      const taken = selection.take(event.decision, live);
      shown += taken.length;
      if (live || request.output === 'json') show(taken);
      else kept.push(...taken);
    } else if (event.kind === 'caught-up' && !live) {
      live = true;
      show(kept.splice(0).sort((a, b) => a.atMs - b.atMs));
      if (shown === 0) noteNothing(request, read, output);
      if (!request.follow) return;
    } else {
      note(event, output);
    }
  }
}

/** A misspelt name would look like a cluster in which nothing happens. */
function noteNothing({ about, pool }: DecisionsRequest, read: number, output: Output): void {
  const wanted = [
    ...(about === undefined ? [] : [`--about ${about}`]),
    ...(pool === undefined ? [] : [`--pool ${pool}`]),
  ];
  if (wanted.length > 0)
    output.err(`none of the ${String(read)} kept decisions matches ${wanted.join(' and ')}\n`);
}

function note(event: DecisionEvent, output: Output): void {
  if (event.kind === 'malformed')
    output.err(
      `decision ${event.sequence} cannot be read: ${event.field}: ${event.reason} (made by a newer version?)\n`,
    );
  if (event.kind === 'reset') output.err(`reading the kept decisions again: ${event.reason}\n`);
}

function pause(durationMs: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    stop.addEventListener('abort', end, { once: true });
  });
}
