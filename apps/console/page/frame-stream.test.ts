import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, test } from 'vitest';

import { openStream } from './frame-stream.js';

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Opens a stream of a console that answers so. */
async function heard(
  answer: (response: ServerResponse) => void,
): Promise<{ readonly said: readonly string[]; readonly end: () => void }> {
  server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const said: string[] = [];
  const address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/events`;
  const end = openStream(address, {
    onText: (text) => said.push(text),
    onBroken: (why) => said.push(`broken: ${why ?? 'no word'}`),
  });
  return { said, end };
}

test('frames come whole, however the network cuts them, and letters, too', async () => {
  const bytes = Buffer.from('retry: 2000\n\ndata: {"a":"ä"}\n\ndata: {"b":1}\n\n');
  const { said } = await heard((response) => {
    const next = (at: number): void => {
      if (at === bytes.length) response.end();
      else response.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
    };
    next(0);
  });
  await expect.poll(() => said).toEqual(['{"a":"ä"}', '{"b":1}', 'broken: no word']);
});

test.each([
  [503, '{"error":"50 pages are open"}', '50 pages are open'],
  [503, '{"error":1}', 'no word'],
  [502, '<html>', 'no word'],
])('an answer of %i with %s is broken: %s', async (status, body, why) => {
  const { said } = await heard((response) => response.writeHead(status).end(body));
  await expect.poll(() => said).toEqual([`broken: ${why}`]);
});

test('a console that goes away breaks the stream', async () => {
  const { said } = await heard((response) => {
    response.write('data: {}\n\n', () => response.destroy());
  });
  await expect.poll(() => said).toEqual(['{}', 'broken: no word']);
});

test('a stream that is ended leaves the console, and says nothing more', async () => {
  let isLeft = false;
  const { said, end } = await heard((response) => {
    response.on('close', () => (isLeft = true));
    response.write('data: {}\n\n');
  });
  await expect.poll(() => said).toEqual(['{}']);
  end();
  await expect.poll(() => isLeft).toBe(true);
  expect(said).toEqual(['{}']);
});
