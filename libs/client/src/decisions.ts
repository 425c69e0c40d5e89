import { connectNatsReader } from '@dovetail/adapter-nats/reader';
import {
  type DecisionEvent,
  followDecisions,
  type FollowDecisionsOptions,
} from '@dovetail/contracts';
import type { StopSignal } from '@dovetail/core-ports';

import { type BusAddress, connectionOf, hash } from './address.js';

/** Where the decisions are, which of them to read, and from when. */
export type DecisionSource = BusAddress & FollowDecisionsOptions;

/**
 * Connects with a reader's rights, follows decisions until `stop` is aborted, and closes the
 * connection. A server that is away is waited for; pass `log` to see it.
 *
 * ```ts
 * import { decisions } from '@dovetail/client';
 *
 * const stop = new AbortController();
 * for await (const event of decisions({ cluster: 'lab', kinds: ['launch'] }, stop.signal)) {
 *   if (event.kind === 'decision') console.log(event.decision.summary);
 * }
 * ```
 */
export async function* decisions(
  source: DecisionSource,
  stop: StopSignal,
): AsyncGenerator<DecisionEvent> {
  const { kinds, from, ...address } = source;
  const bus = connectNatsReader(connectionOf(address, 'reader'));
  try {
    yield* followDecisions({ bus, cluster: source.cluster, hash }, stop, {
      ...(kinds === undefined ? {} : { kinds }),
      ...(from === undefined ? {} : { from }),
    });
  } finally {
    await bus.close();
  }
}
