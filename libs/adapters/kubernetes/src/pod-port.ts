import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';

import { KubeError, messageOf } from '@dovetail/core-ports';
import { PortForward } from '@kubernetes/client-node';

import { kubeConfigAt } from './cluster-ca.js';

/** A port of a pod, and the cluster that it runs in. */
export type PodPort = {
  /** Absent: as kubectl finds it. */
  readonly kubeconfigPath?: string;
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
};

type ForwardedPort = {
  /** Its address on this machine. */
  readonly url: string;
  /** Why the last connection to the pod failed. */
  failure(): string | undefined;
  close(): void;
};

/**
 * Asks a pod by HTTP, as `kubectl port-forward` and a client would: the pod sees a caller of its
 * own host. Throws KubeError if the port cannot be reached.
 */
export async function askPod(
  at: PodPort,
  request: { readonly path: string; readonly timeoutMs: number },
): Promise<{ readonly status: number; readonly body: string }> {
  const forwarded = await forward(at);
  try {
    const response = await fetch(new URL(request.path, forwarded.url), {
      signal: AbortSignal.timeout(request.timeoutMs),
    });
    return { status: response.status, body: await response.text() };
  } catch (cause) {
    const why = forwarded.failure() ?? messageOf(cause);
    throw new KubeError(
      'unavailable',
      `port ${at.port} of pod ${at.namespace}/${at.pod} cannot be reached: ${why}`,
      { cause },
    );
  } finally {
    forwarded.close();
  }
}

/** Listens on loopback, and forwards each connection to the pod. */
async function forward({ kubeconfigPath, namespace, pod, port }: PodPort): Promise<ForwardedPort> {
  const forwarder = new PortForward(kubeConfigAt(kubeconfigPath));
  const sockets = new Set<Socket>();
  let failure: string | undefined;
  const failed = (socket: Socket, why: string): void => {
    failure ??= why;
    socket.destroy();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    const errors = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (chunk.length > 0) failed(socket, chunk.toString('utf8').trim());
        done();
      },
    });
    forwarder.portForward(namespace, pod, [port], socket, errors, socket).then(
      (webSocket) => {
        const end = (): void => (webSocket as { close(): void }).close();
        if (socket.destroyed) end();
        else socket.once('close', end);
      },
      (error: unknown) => failed(socket, messageOf(error)),
    );
  });
  await listening(server);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failure: () => failure,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
