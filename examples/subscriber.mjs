// Prints every launch, with its price, and goes on as they happen. docs/guides/subscribe.md says how to
// install the packages. Without them, in this repository:
// node --import tsx --conditions=@dovetail/source examples/subscriber.mjs
import { readFileSync } from 'node:fs';

import { decisions } from '@dovetail/client';

const { NATS_URL = 'nats://127.0.0.1:4222', NATS_CREDENTIALS, NATS_CA } = process.env;
const { CLUSTER_NAME = 'lab' } = process.env;
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.stdout.once('error', () => stop.abort()); // the reader of a pipe has left
const events = decisions(
  {
    servers: [NATS_URL],
    cluster: CLUSTER_NAME,
    kinds: ['launch'],
    // The reader's seed, if NATS asks for users.
    ...(NATS_CREDENTIALS && {
      credentials: { kind: 'nkey', seed: readFileSync(NATS_CREDENTIALS, 'utf8') },
    }),
    // The authority of NATS' certificate, if that is not one of the system's.
    ...(NATS_CA && { tls: { caFile: NATS_CA } }),
    // Says on standard error whether NATS answers, and why not.
    log: new console.Console(process.stderr),
  },
  stop.signal,
);
for await (const event of events) {
  if (event.kind === 'decision')
    console.log(event.decision.summary, (event.decision.priceMicrosPerHour ?? 0) / 1e6);
}
