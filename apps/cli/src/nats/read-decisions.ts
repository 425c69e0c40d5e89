import {
  type Decision,
  type DecisionKind,
  followDecisions,
  type Reader,
  streamName,
} from '@dovetail/contracts';
import { Stopper } from '@dovetail/core-ports';

import { withReader } from './bus-reader.js';
import type { BusRequest } from './connection.js';

/** The longest time for the decisions of seven days, in milliseconds. */
const timeoutMs = 20_000;

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
  const read = await withReader(request, reading.name, (reader) => readFrom(reader, reading));
  return read.ok ? read.value : read.why;
}

async function readFrom(reader: Reader, { kinds, take }: Reading): Promise<string | undefined> {
  const stop = new Stopper();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  try {
    await reader.bus.position(streamName(reader.cluster, 'decisions'));
    const asked = kinds === undefined ? {} : { kinds };
    for await (const event of followDecisions(reader, stop, asked)) {
      if (event.kind === 'decision') take(event.decision);
      if (event.kind === 'caught-up') return undefined;
    }
    return `the decisions were not read to the end within ${String(timeoutMs / 1_000)} s`;
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}
