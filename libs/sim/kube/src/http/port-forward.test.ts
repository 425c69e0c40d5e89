import { type AddressInfo, createServer, type Server } from 'node:net';
import { PassThrough } from 'node:stream';

import { KubeConfig, PortForward } from '@kubernetes/client-node';
import { afterEach, expect, test } from 'vitest';

import { createKubeStore, createManualClock, type ServedKube, serveKube } from '../index.js';

let served: ServedKube | undefined;
let pod: Server | undefined;
afterEach(async () => {
  await served?.close();
  pod?.close();
});

/** A running pod, played by a server that answers a line in capital letters, and hangs up. */
async function forwarderToPod() {
  const store = createKubeStore({ clock: createManualClock(Date.UTC(2026, 0, 1)), seed: 1 });
  const at = { namespace: 'default', name: 'p' };
  const pods = store.type('', 'v1', 'pods');
  store.create(pods, {
    ...at,
    object: { metadata: { name: 'p' }, spec: { containers: [{ name: 'main', image: 'pause' }] } },
  });
  store.patch(
    pods,
    { ...at, patch: { type: 'merge', body: { status: { phase: 'Running' } } } },
    { subresource: 'status' },
  );
  served = await serveKube(store);
  const listening = createServer((socket) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      socket.write(text.toUpperCase());
      if (text.endsWith('\n')) socket.end();
    });
  });
  pod = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const config = new KubeConfig();
  config.loadFromString(served.kubeconfig);
  return { forwarder: new PortForward(config), port: (listening.address() as AddressInfo).port };
}

const bytesOf = async (stream: PassThrough): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

test.each([3, 300, 70_000])(
  'the port of a pod is forwarded both ways, %i bytes at once',
  async (length) => {
    const { forwarder, port } = await forwarderToPod();
    const [to, from] = [new PassThrough(), new PassThrough()];
    const socket = await forwarder.portForward('default', 'p', [port], from, null, to);
    (socket as { onclose: unknown }).onclose = () => from.end();
    to.write(`${'x'.repeat(length)}\n`);
    expect((await bytesOf(from)).toString('utf8')).toBe(`${'X'.repeat(length)}\n`);
  },
);

test.each([
  ['a pod that does not exist', 'q', 80, /404/],
  ['a port that cannot be', 'p', 0, /400/],
])('%s is refused', async (_what, name, port, message) => {
  const { forwarder } = await forwarderToPod();
  const [to, from] = [new PassThrough(), new PassThrough()];
  await expect(
    forwarder.portForward('default', name, [port], from, null, to),
  ).rejects.toMatchObject({ message: expect.stringMatching(message) });
});
