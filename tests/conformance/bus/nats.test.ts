import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats, type NatsBus } from '@dovetail/adapter-nats';
import type { Log } from '@dovetail/core-ports';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { test } from 'vitest';

import { busConformance, type BusWorld } from './testing/suite.js';

const server = await obtainNatsServer();
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Runs one call of JetStream's API as an operator would, in any state of the server. */
async function operate(admin: () => NatsConnection, subject: string): Promise<void> {
  await admin().request(`$JS.API.${subject}`, '', { timeout: 60_000 });
}

async function natsWorld(path: string): Promise<BusWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-bus-'));
  const nats = await startNats({ path, dir });
  const connection = await connect({
    servers: nats.url,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  });
  const buses: NatsBus[] = [];
  return {
    connect: () => {
      const bus = connectNats({ servers: [nats.url], name: 'conformance', log: quiet });
      buses.push(bus);
      return bus;
    },
    crash: () => nats.kill('SIGKILL'),
    restart: async ({ wiped }) => {
      if (wiped) await nats.wipeStore();
      await nats.restart();
    },
    purge: (stream) => operate(() => connection, `STREAM.PURGE.${stream}`),
    deleteStream: (stream) => operate(() => connection, `STREAM.DELETE.${stream}`),
    deleteConsumer: (stream, consumer) =>
      operate(() => connection, `CONSUMER.DELETE.${stream}.${consumer}`),
    close: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
      await connection.close();
      await nats.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

if (isUnavailable(server)) {
  test('NATS is left out', () =>
    void process.stdout.write(`LEFT OUT: the bus on NATS: ${server.unavailable}\n`));
} else {
  busConformance('NATS', () => natsWorld(server.path));
}
