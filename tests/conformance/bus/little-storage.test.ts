import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats } from '@dovetail/adapter-nats';
import { streamName, streamSpecs, subjects } from '@dovetail/contracts';
import type { Log } from '@dovetail/core-ports';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';

const server = await obtainNatsServer();
const mebibyte = 1024 * 1024;
/** As `startNats` configures it. */
const storageBytes = 16_384 * mebibyte;
const cluster = 'lab';
const needed = streamSpecs(cluster).filter(({ isOptional }) => isOptional !== true);
const neededBytes = needed.reduce((sum, { maxBytes }) => sum + maxBytes, 0);

if (isUnavailable(server)) {
  test('a server with little storage is left out', () =>
    console.warn(`LEFT OUT: a server with little storage: ${server.unavailable}`));
} else {
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-storage-'));
  const warned: string[] = [];
  const ignore = (): void => undefined;
  const warn: Log['warn'] = (_name, message) => void warned.push(message);
  const told: string[] = [];
  const info: Log['info'] = (name) => void told.push(name);
  const log: Log = { debug: ignore, info, warn, error: warn };
  let nats: Awaited<ReturnType<typeof startNats>>;
  beforeAll(async () => {
    nats = await startNats({ path: server.path, dir });
  });
  afterAll(async () => {
    await nats.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** One call of JetStream's API, as an operator makes it. */
  async function operate(call: string, body?: object): Promise<void> {
    const connection = await connect({ servers: nats.url });
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = await connection.request(`$JS.API.STREAM.${call}`, text, { timeout: 60_000 });
    await connection.close();
    expect(answer.json()).not.toHaveProperty('error');
  }

  /** Does some work while others leave so many bytes of the server's storage. */
  async function withRoom(bytes: number, work: () => Promise<void>): Promise<void> {
    const max_bytes = storageBytes - bytes;
    await operate('CREATE.OTHER', { name: 'OTHER', subjects: ['other'], max_bytes });
    await work();
    await operate('DELETE.OTHER');
  }

  test('a server that has no room for records is told of, and gets all other streams; later records too', async () => {
    const bus = connectNats({ servers: [nats.url], name: 'storage', log });
    const ensure = (): Promise<void> => bus.ensureStreams(streamSpecs(cluster));
    await withRoom(neededBytes + mebibyte, async () => {
      // Each audit of the feed ensures the streams again.
      for (const _audit of [1, 2, 3]) await ensure();
      expect(warned).toEqual([expect.stringMatching(/^the work goes on without \S*RECORDS\S*: /)]);
      const message = { subject: subjects.pending(cluster, 'a'), payload: new Uint8Array([1]) };
      expect(await bus.publish(message)).toMatchObject({ sequence: 1 });
    });
    for (const _audit of [1, 2]) await ensure();
    expect([warned.length, told.filter((name) => name === 'stream-made')]).toEqual([
      1,
      ['stream-made'],
    ]);
    const records = streamName(cluster, 'records');
    expect(await bus.position(records)).toMatchObject({ lastSequence: 0 });
    await operate(`DELETE.${records}`);
    await withRoom(neededBytes + mebibyte, async () => {
      await ensure();
      expect(warned).toHaveLength(2);
    });
    await ensure();
    await bus.close();
  });

  test('a server that has no room for a stream that is needed is refused, with the remedy', async () => {
    const bus = connectNats({ servers: [nats.url], name: 'storage', log });
    for (const { name } of streamSpecs(cluster)) await operate(`DELETE.${name}`);
    await withRoom(neededBytes - mebibyte, () =>
      expect(bus.ensureStreams(streamSpecs(cluster))).rejects.toThrow(
        /delete stream \S+ or give the server more storage/,
      ),
    );
    await bus.close();
  });
}
