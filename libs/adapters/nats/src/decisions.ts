import { createHash } from 'node:crypto';

import {
  type DecisionEvent,
  followDecisions,
  type FollowDecisionsOptions,
  inboxOf,
} from '@dovetail/contracts';
import type { Log, StopSignal } from '@dovetail/core-ports';

import { type NatsOptions, natsVersionMin } from './options.js';
import { connectNatsReader } from './reader.js';

export type { DecisionEvent, FollowDecisionsOptions } from '@dovetail/contracts';
export type { Decision, DecisionKind } from '@dovetail/contracts';
export { natsVersionMin };

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const hash = {
  sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex'),
};

/** Where the decisions are, and which of them to read. */
export type DecisionSource = Partial<Omit<NatsOptions, 'servers'>> &
  FollowDecisionsOptions & {
    /** `nats://host:port` or `tls://host:port`. The default is a server on this machine. */
    readonly servers?: readonly string[];
    /** The cluster's name, as in the services' settings. */
    readonly cluster: string;
  };

/**
 * Connects, follows decisions until `stop` is aborted, and closes the connection. A server that is
 * away is waited for; pass `log` to see it. For programs that need nothing else of the bus.
 *
 * ```ts
 * for await (const event of decisions({ cluster: 'lab', kinds: ['launch'] }, stop)) {
 *   if (event.kind === 'decision') console.log(event.decision.summary);
 * }
 * ```
 */
export async function* decisions(
  source: DecisionSource,
  stop: StopSignal,
): AsyncGenerator<DecisionEvent> {
  const { cluster, kinds, from, servers = ['nats://127.0.0.1:4222'], ...options } = source;
  const inboxPrefix = inboxOf(cluster, 'reader');
  const own = { name: 'decisions', log: silent, inboxPrefix };
  const bus = connectNatsReader({ ...own, ...options, servers });
  try {
    yield* followDecisions({ bus, cluster, hash }, stop, {
      ...(kinds === undefined ? {} : { kinds }),
      ...(from === undefined ? {} : { from }),
    });
  } finally {
    await bus.close();
  }
}
