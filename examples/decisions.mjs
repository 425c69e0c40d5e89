// Reads decisions with only NATS' own client and the .proto files: node examples/decisions.mjs
import { connect } from 'nats';
import protobuf from 'protobufjs';

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (target.startsWith('google/') ? target : `proto/${target}`);
const Decision = (await root.load('dovetail/v1/decision.proto')).lookupType('dovetail.v1.Decision');
const nats = await connect({ servers: process.env.NATS_URL ?? 'nats://127.0.0.1:4222' });
process.once('SIGINT', () => nats.close());
for await (const message of nats.subscribe(
  `dovetail.${process.env.CLUSTER_NAME ?? 'lab'}.decision.v1.launch.>`,
)) {
  const { summary, priceMicrosPerHour } = Decision.toObject(Decision.decode(message.data), {
    longs: Number,
  });
  console.log(summary, priceMicrosPerHour / 1e6);
}
