import { createHash } from 'node:crypto';

import type { NatsOptions } from '@dovetail/adapter-nats';
import { type Decision, type DecisionKind, followDecisions, streamName } from '@dovetail/contracts';
import { BusError, type Hash, Stopper } from '@dovetail/core-ports';

import { busOf, type BusRequest, natsOptions, remedyOf } from './connection.js';

/** The longest time for the decisions of seven days, in milliseconds. */
const timeoutMs = 20_000;

const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };

/** Which decisions a command takes, and what it does with each. */
export type Reading = {
  /** The name that the command gives itself on the bus. */
  readonly name: string;
  /** Only these kinds. Undefined: all. */
  readonly kinds?: readonly DecisionKind[];
  /** Takes a decision; in the order of the stream, and perhaps more than once. */
  readonly take: (decision: Decision) => void;
};

/**
 * Reads the kept decisions. Resolves to why they are not read, or not to the end; undefined: all
 * are.
 */
export async function readDecisions(
  request: BusRequest,
  reading: Reading,
): Promise<string | undefined> {
  let said = '';
  const options = natsOptions(request, reading.name, {
    err: (text) => {
      said = text.trimEnd();
    },
  });
  return options === undefined ? said : await readFrom(options, request.cluster, reading);
}

async function readFrom(
  options: NatsOptions,
  cluster: string,
  { kinds, take }: Reading,
): Promise<string | undefined> {
  const { bus, close } = busOf(options);
  const stop = new Stopper();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  try {
    await bus.position(streamName(cluster, 'decisions'));
    const reader = { bus, cluster, hash };
    const asked = kinds === undefined ? {} : { kinds };
    for await (const event of followDecisions(reader, stop, asked)) {
      if (event.kind === 'decision') take(event.decision);
      if (event.kind === 'caught-up') return undefined;
    }
    return `the decisions were not read to the end within ${String(timeoutMs / 1_000)} s`;
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    return remedyOf(error, { cluster, servers: options.servers });
  } finally {
    clearTimeout(timer);
    stop.abort();
    await close();
  }
}
