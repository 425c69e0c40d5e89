// Prints every launch as it happens, with its price. In this repository: node --import tsx
// --conditions=@dovetail/source examples/subscriber.mjs
import { decisions } from '@dovetail/adapter-nats/decisions';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
const source = {
  servers: [process.env.NATS_URL ?? 'nats://127.0.0.1:4222'],
  cluster: process.env.CLUSTER_NAME ?? 'lab',
  kinds: ['launch'],
};
for await (const event of decisions(source, stop.signal)) {
  if (event.kind === 'decision')
    console.log(event.decision.summary, (event.decision.priceMicrosPerHour ?? 0) / 1e6);
}
