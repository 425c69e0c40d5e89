import {
  type Decision,
  type DecisionKind,
  followDecisions,
  type MalformedMessage,
  type Reader,
  streamName,
} from '@dovetail/contracts';
import { Stopper, type StopSignal } from '@dovetail/core-ports';

import { withReader } from './bus-reader.js';
import { type BusRequest, serversOf } from './connection.js';

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
  /** Is told of each that cannot be read. */
  readonly unreadable?: (message: MalformedMessage) => void;
};

/**
 * Reads the kept decisions. Resolves to why they are not read, or not to the end; undefined: all
 * are.
 */
export async function readDecisions(
  request: BusRequest,
  reading: Reading,
): Promise<string | undefined> {
  const read = await withReader(request, reading.name, (reader) => isRead(reader, reading));
  if (!read.ok) return read.why;
  return read.value
    ? undefined
    : `the bus at ${serversOf(request).join(', ')} did not give all decisions within ${String(timeoutMs / 1_000)} s: check that its server is not stopped, and try again`;
}

/** Whether the decisions were read to the end in time. */
async function isRead(reader: Reader, reading: Reading): Promise<boolean> {
  const stop = new Stopper();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([isTaken(reader, reading, stop), late]);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

async function isTaken(
  reader: Reader,
  { kinds, take, unreadable }: Reading,
  stop: StopSignal,
): Promise<boolean> {
  await reader.bus.position(streamName(reader.cluster, 'decisions'));
  const asked = kinds === undefined ? {} : { kinds };
  for await (const event of followDecisions(reader, stop, asked)) {
    if (event.kind === 'decision') take(event.decision);
    if (event.kind === 'malformed') unreadable?.(event);
    if (event.kind === 'caught-up') return true;
  }
  return false;
}
