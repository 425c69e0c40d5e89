import { createHash } from 'node:crypto';

import type { NatsOptions } from '@dovetail/adapter-nats';
import { followDecisions, streamName } from '@dovetail/contracts';
import { BusError, type Hash, Stopper } from '@dovetail/core-ports';

import { busOf, type BusRequest, natsOptions, remedyOf } from '../nats/connection.js';
import { type Decided, decidedKinds } from './decided.js';

/** The longest time for the decisions of seven days, in milliseconds. */
const timeoutMs = 20_000;

const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };

/**
 * Reads the kept decisions into `decided`. Resolves to why they are not read, or not to the end;
 * undefined: all are.
 */
export async function readDecisions(
  request: BusRequest,
  decided: Decided,
): Promise<string | undefined> {
  let said = '';
  const options = natsOptions(request, 'dovetail status', {
    err: (text) => {
      said = text.trimEnd();
    },
  });
  return options === undefined ? said : await readFrom(options, request.cluster, decided);
}

async function readFrom(
  options: NatsOptions,
  cluster: string,
  decided: Decided,
): Promise<string | undefined> {
  const { bus, close } = busOf(options);
  const stop = new Stopper();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  try {
    await bus.position(streamName(cluster, 'decisions'));
    const reader = { bus, cluster, hash };
    for await (const event of followDecisions(reader, stop, { kinds: decidedKinds })) {
      if (event.kind === 'decision') decided.take(event.decision);
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
