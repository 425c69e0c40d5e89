import { createHash } from 'node:crypto';

import type { NatsOptions } from '@dovetail/adapter-nats';
import {
  type Decision,
  type DecisionEvent,
  followDecisions,
  streamName,
} from '@dovetail/contracts';
import { type Bus, BusError, type Hash } from '@dovetail/core-ports';

import { busOf, natsOptions, remedyOf } from '../nats/connection.js';
import { Silence } from '../nats/silence.js';
import { malformedText } from '../nats/unreadable.js';
import { decisionsExitCodes, type DecisionsRequest } from './request.js';
import { jsonLine, Table } from './rows.js';
import { Selection } from './selection.js';

/** Where the command writes: results to `out`, messages for people to `err`. */
export type Output = { out(text: string): void; err(text: string): void };

const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };
const waitMs = 1_000;
/**
 * A server sends the kept decisions without a pause, and then says that they are all. One that is
 * silent for so long has stopped.
 */
const silenceMs = 10_000;

/**
 * Prints decisions until the last one kept, or with `follow` until `stop`. Resolves to the exit
 * code, and writes errors to `err`. While NATS does not answer, a follower reports it and waits;
 * otherwise the command ends after 5 seconds, or after 10 if NATS stops while it is read.
 */
export async function runDecisions(
  request: DecisionsRequest,
  output: Output,
  stop: AbortSignal,
): Promise<number> {
  const options = natsOptions(request, 'dovetail decisions', output);
  if (options === undefined) return decisionsExitCodes.badInput;
  const { bus, close } = busOf(options);
  try {
    // A call to a server that has stopped takes its time, and nobody waits for it any more.
    return await Promise.race([shown(bus, request, options, output, stop), stopped(stop)]);
  } finally {
    await close();
  }
}

async function shown(
  bus: Bus,
  request: DecisionsRequest,
  options: NatsOptions,
  output: Output,
  stop: AbortSignal,
): Promise<number> {
  if (!(await streamIsThere(bus, request, options, output, stop)))
    return stop.aborted ? decisionsExitCodes.done : decisionsExitCodes.unavailable;
  if (await isPrinted(bus, request, output, stop)) return decisionsExitCodes.done;
  output.err(
    `the bus at ${options.servers.join(', ')} fell silent for ${String(silenceMs / 1_000)} s before the last decision: check that its server is not stopped, and try again\n`,
  );
  return decisionsExitCodes.unavailable;
}

const stopped = (stop: AbortSignal): Promise<number> =>
  new Promise((resolve) => {
    const end = (): void => resolve(decisionsExitCodes.done);
    if (stop.aborted) end();
    else stop.addEventListener('abort', end, { once: true });
  });

/** Prints what is kept, and returns whether that was all. A follower prints until `stop`. */
async function isPrinted(
  bus: Bus,
  request: DecisionsRequest,
  output: Output,
  stop: AbortSignal,
): Promise<boolean> {
  if (request.follow) {
    await print(bus, request, output, stop);
    return true;
  }
  const silence = new Silence(silenceMs);
  const printed = print(bus, request, output, stop, () => silence.heard());
  try {
    return await Promise.race([printed.then(() => true), silence.over.then(() => false)]);
  } finally {
    silence.end();
  }
}

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
      if (stop.aborted) return false;
      if (!follow || (tries === 0 && error.code === 'no-stream'))
        output.err(`${remedyOf(error, { cluster, servers })}${follow ? '; waiting for it' : ''}\n`);
      if (!follow) return false;
    }
    await pause(waitMs, stop);
  }
  return false;
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
  heard: () => void = () => undefined,
): Promise<void> {
  const selection = new Selection(request, Date.now());
  const table = new Table(request.layout);
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
    heard();
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
  if (event.kind === 'malformed') output.err(`${malformedText(event)}\n`);
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
