import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';

import { httpRequest, isAlive, obtainNatsServer, startNats } from '../index.js';
import { leftOut, scratchDir } from '../testing/scratch.js';

const server = await obtainNatsServer();
const dir = scratchDir();

const streamsAt = async (url: string): Promise<string[]> => {
  const connection = await connect({ servers: url });
  const names: string[] = [];
  for await (const stream of (await jetstreamManager(connection)).streams.list())
    names.push(stream.config.name);
  await connection.close();
  return names;
};

test('a server keeps its streams over kill -9 and a restart on the same port, and loses them with its store', async () => {
  if (leftOut('the real NATS server', server)) return;
  const nats = await startNats({ path: server.path, dir, config: 'max_payload: 2MB' });
  try {
    const connection = await connect({ servers: nats.url });
    expect(connection.info?.max_payload).toBe(2 * 1024 * 1024);
    await (await jetstreamManager(connection)).streams.add({ name: 'kept', subjects: ['kept.>'] });
    expect((await jetstream(connection).publish('kept.one', 'hello')).seq).toBe(1);
    await connection.close();

    await expect(nats.wipeStore()).rejects.toThrow(/running/);
    await nats.kill('SIGKILL');
    await nats.restart();
    expect(await streamsAt(nats.url)).toEqual(['kept']);
    expect((await httpRequest(`${nats.monitorUrl}/varz`)).status).toBe(200);

    await nats.stop();
    await nats.wipeStore();
    expect(existsSync(join(dir, 'jetstream'))).toBe(false);
    await nats.restart();
    expect(await streamsAt(nats.url)).toEqual([]);
  } finally {
    await nats.stop();
  }
  expect(isAlive(nats.pid)).toBe(false);
});

test('a server named by NATS_SERVER that does not run is not replaced by another one', async () => {
  process.env['NATS_SERVER'] = join(dir, 'no-such-server');
  try {
    expect(await obtainNatsServer()).toEqual({
      unavailable: expect.stringMatching(/NATS_SERVER=.*no-such-server[^]*unset/),
    });
  } finally {
    delete process.env['NATS_SERVER'];
  }
});

test('NATS_SERVER=none behaves as if there were none to be had', async () => {
  process.env['NATS_SERVER'] = 'none';
  try {
    expect(await obtainNatsServer()).toEqual({ unavailable: 'NATS_SERVER=none asks for none' });
  } finally {
    delete process.env['NATS_SERVER'];
  }
});
