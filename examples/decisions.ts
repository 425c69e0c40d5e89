// Every launch as it happens, with its price: npx tsx --conditions=@dovetail/source examples/decisions.ts
import { connectNats } from '@dovetail/adapter-nats';
import { followDecisions } from '@dovetail/contracts';
import { createLog, systemHash } from '@dovetail/runtime';

const bus = connectNats({ servers: [process.env.NATS_URL ?? 'nats://127.0.0.1:4222'], name: 'my-tool', log: createLog({ service: 'my-tool', level: 'warn' }) });
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
for await (const event of followDecisions({ bus, cluster: process.env.CLUSTER_NAME ?? 'lab', hash: systemHash }, stop.signal, { kinds: ['launch'] })) {
  if (event.kind === 'decision') console.log(event.decision.summary, (event.decision.priceMicrosPerHour ?? 0) / 1e6);
}
await bus.close();
