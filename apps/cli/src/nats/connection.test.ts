import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, test } from 'vitest';

import { withReader } from './bus-reader.js';
import type { BusRequest } from './connection.js';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-nats-'));
afterAll(() => rmSync(folder, { recursive: true }));

const secrets = { natsCredentials: '', natsCa: '', natsCert: '', natsKey: '' };
const why = async (request: Partial<BusRequest>): Promise<unknown> => {
  const asked = await withReader(
    { cluster: 'lab', nats: undefined, secrets, ...request },
    'test',
    (reader) => reader.bus.position('X'),
  );
  return asked.ok ? asked.value : asked.why;
};

describe('an address of NATS is refused by name', () => {
  test.each(['http://x:y:z', '', 'nats://', 'ftp://nats:4222', 'nats://a:1,http://b', '4222'])(
    '%j',
    async (nats) =>
      expect(await why({ nats })).toMatch(
        `--nats (or NATS_URL) is "${nats}": give nats:// or tls://`,
      ),
  );
});

describe('an HTTP address that is no bus', () => {
  let server: Server | undefined;
  afterEach(() => void server?.close());

  async function answering(status: number, body: string): Promise<string> {
    const listening = createServer((_request, response) => {
      response.writeHead(status, { connection: 'close' }).end(body);
    });
    server = listening;
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${String((listening.address() as AddressInfo).port)}`;
  }

  test.each([
    [200, '<html>'],
    [200, '{}'],
    [200, 'null'],
    [404, 'not found'],
    [404, '{"error":"not found"}'],
    [500, ''],
  ])('and answers %d %j is told of', async (status, body) => {
    const nats = await answering(status, body);
    expect(await why({ nats })).toBe(
      `${nats} answers, but it is not the bus of a lab: give its address with --nats or NATS_URL`,
    );
  });
});

test('a file that holds no credentials is told of, instead of the address', async () => {
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'root:x:0:0\n');
  expect(await why({ secrets: { ...secrets, natsCredentials: file } })).toBe(
    `--nats-credentials ${file}: it holds neither the seed of an NKey nor the text of a .creds file; give the path of a .creds file or of an NKey seed`,
  );
});
