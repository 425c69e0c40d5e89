import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

import { badRequest, methodNotAllowed, noSuchPath } from '../model/errors.js';
import type { Pod } from '../model/objects.js';
import type { KubeStore } from '../store/store.js';
import { targetOf } from './request.js';
import { acceptWebSocket, protocolsOf } from './web-socket.js';

/** The kubelet's oldest and simplest protocol for this, which client libraries speak. */
const protocol = 'v4.channel.k8s.io';
/** The channels of the first port: its data, and what went wrong. */
const channels = { data: 0, error: 1 } as const;

const messageOn = (channel: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.of(channel), bytes]);

/** The port that a request asks to be connected to. Throws StatusError for one that cannot be. */
function portOf(store: KubeStore, request: IncomingMessage): number {
  const url = new URL(request.url ?? '/', 'http://twin');
  const target = targetOf(url.pathname);
  if (target.kind !== 'resource' || target.subresource !== 'portforward') throw noSuchPath();
  const { namespace, name = '' } = target;
  const pod = store.get(store.type('', 'v1', target.plural), { namespace, name }) as Pod;
  if (target.plural !== 'pods' || request.method !== 'GET') throw methodNotAllowed();
  const phase = pod.status?.phase ?? 'Pending';
  if (phase !== 'Running')
    throw badRequest(`unable to forward port because pod is not running. Current status=${phase}`);
  if (!protocolsOf(request).includes(protocol))
    throw badRequest(`the twin forwards ports by WebSocket with ${protocol} alone`);
  const port = Number(url.searchParams.get('ports'));
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw badRequest('query parameter "ports" must be one port');
  return port;
}

/**
 * Serves the port of a pod, as a kubelet does: it connects to the loopback address, where the
 * process that plays the pod listens. Throws StatusError before it answers.
 */
export function servePortForward(store: KubeStore, request: IncomingMessage, socket: Duplex): void {
  const port = portOf(store, request);
  const pod = connect({ port, host: '127.0.0.1' });
  const forwarded = acceptWebSocket(request, socket, protocol, {
    message: (bytes) => {
      if (bytes[0] === channels.data && pod.writable) pod.write(bytes.subarray(1));
    },
    closed: () => pod.destroy(),
  });
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of Object.values(channels)) forwarded.send(messageOn(channel, number));
  pod.on('data', (chunk: Buffer) => forwarded.send(messageOn(channels.data, chunk)));
  pod.on('error', ({ message }) =>
    forwarded.send(messageOn(channels.error, Buffer.from(`failed to connect: ${message}`))),
  );
  pod.on('close', () => forwarded.close());
}
