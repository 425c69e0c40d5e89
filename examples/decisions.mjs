// Prints every launch as it happens, with its price. docs/guides/subscribe.md has the steps.
import { readFileSync } from 'node:fs';

import { connect, nkeyAuthenticator } from 'nats';
import protobuf from 'protobufjs';

const { NATS_URL = 'nats://127.0.0.1:4222', NATS_CREDENTIALS, NATS_CA } = process.env;
const { CLUSTER_NAME = 'lab' } = process.env;
const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (target.startsWith('google/') ? target : `proto/${target}`);
const Decision = (await root.load('dovetail/v1/decision.proto')).lookupType('dovetail.v1.Decision');
const nats = await connect({
  servers: NATS_URL,
  // The reader's seed, if NATS asks for users.
  ...(NATS_CREDENTIALS && {
    authenticator: nkeyAuthenticator(
      new TextEncoder().encode(readFileSync(NATS_CREDENTIALS, 'utf8').trim()),
    ),
  }),
  // The authority of NATS' certificate, if that is not one of the system's.
  ...(NATS_CA && { tls: { caFile: NATS_CA } }),
});
process.once('SIGINT', () => nats.close());
process.stdout.once('error', () => nats.close()); // the reader of a pipe has left
for await (const message of nats.subscribe(`dovetail.${CLUSTER_NAME}.decision.v1.launch.>`)) {
  const { summary, priceMicrosPerHour } = Decision.toObject(Decision.decode(message.data), {
    longs: Number,
  });
  console.log(summary, priceMicrosPerHour / 1e6);
}
