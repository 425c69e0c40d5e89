// Prints the subject of each kept decision: with a consumer that pulls, and with one in order.
import { readFileSync } from 'node:fs';

import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';

const { NATS_URL, NATS_CREDENTIALS, INBOX, STREAM, FILTER, COUNT } = process.env;
const connection = await connect({
  servers: NATS_URL,
  authenticator: nkeyAuthenticator(
    new TextEncoder().encode(readFileSync(NATS_CREDENTIALS, 'utf8').trim()),
  ),
  inboxPrefix: INBOX,
});
void (async () => {
  for await (const status of connection.status())
    if (status.type === 'error') {
      console.error(status.error);
      process.exitCode = 1;
    }
})();
// Whether JetStream is there is asked of the account, which is none of a reader's business.
const manager = await jetstreamManager(connection, { checkAPI: false });
const client = jetstream(connection);

async function print(how, consumer) {
  const messages = await consumer.fetch({ max_messages: Number(COUNT), expires: 60_000 });
  for await (const message of messages) {
    if (how === 'pull') message.ack();
    console.log(how, message.subject);
  }
}

for (const filter of [{}, { filter_subject: FILTER }]) {
  const config = { ...filter, ack_policy: AckPolicy.Explicit };
  const { name } = await manager.consumers.add(STREAM, config);
  await print('pull', await client.consumers.get(STREAM, name));
  await manager.consumers.delete(STREAM, name);
}
await print('push', await client.consumers.get(STREAM, { filter_subjects: FILTER }));
await connection.flush();
await connection.close();
