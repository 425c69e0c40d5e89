import type { Cloud, InterruptionQueue } from '@dovetail/core-ports';

import type { CloudTwin } from '../twin/cloud-twin.js';
import { accountOf, catalogOf, clustersOf, imagesOf, networkOf, pricesOf } from './discovery.js';
import { instancesOf } from './instances.js';
import { launchesOf } from './launches.js';
import { profilesOf } from './profiles.js';
import { type Run, runnerFor } from './runner.js';

// As the AWS adapter receives: ten messages, hidden for 20 seconds, after a long poll of 20
// seconds.
const receiveOrder = { max: 10, visibilityMs: 20_000, waitMs: 20_000 };

function queueOf({ queue }: CloudTwin, run: Run): InterruptionQueue {
  return {
    async receive(stop) {
      if (stop.aborted) return [];
      const ended = new AbortController();
      const end = (): void => ended.abort();
      stop.addEventListener('abort', end, { once: true });
      try {
        const messages = await run('sqs:ReceiveMessage', () =>
          queue.receive(receiveOrder, ended.signal),
        );
        return messages.map(({ body, receipt, sentMs, receives }) => ({
          body,
          receipt,
          sentMs,
          receives,
        }));
      } finally {
        stop.removeEventListener('abort', end);
      }
    },
    async delete(receipts) {
      await run('sqs:DeleteMessageBatch', () => {
        for (const receipt of receipts) queue.delete(receipt);
      });
      return [];
    },
  };
}

/**
 * The cloud ports directly on the twin, without a wire. They do what the AWS adapter does against
 * AWS, for tests and simulation.
 */
export function inProcessCloud(twin: CloudTwin): Cloud & InterruptionQueue {
  const run = runnerFor(twin);
  return {
    ...catalogOf(twin, run),
    ...pricesOf(twin, run),
    ...networkOf(twin, run),
    ...imagesOf(twin, run),
    ...clustersOf(twin, run),
    ...accountOf(twin, run),
    ...launchesOf(twin, run),
    ...instancesOf(twin, run),
    ...profilesOf(twin, run),
    ...queueOf(twin, run),
  };
}
