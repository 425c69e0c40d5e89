import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

import { messageOf } from '@dovetail/core-ports';

import { isNoSuchPath, noSuchPath, StatusError } from '../model/errors.js';
import { servedVersion } from '../model/served-resources.js';
import type { KubeStore } from '../store/store.js';
import { groupList, groupOf, resourceList, versionList } from './discovery.js';
import { answer, type Exchange, objectBody } from './exchange.js';
import { openApiDocument, openApiIndex } from './openapi.js';
import { openApiV2Message, openApiV2Protobuf } from './openapi-protobuf.js';
import { openApiV2Document } from './openapi-v2.js';
import { servePortForward } from './port-forward.js';
import { type Target, targetOf } from './request.js';
import { serveResource } from './resources.js';

/** Where to serve a store, and to whom. */
export type ServeOptions = {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The bearer token that requests carry, if they carry one. Default `twin`. */
  readonly token?: string;
  /** The cluster's name in the kubeconfig. Default `twin`. */
  readonly clusterName?: string;
  /** Receives requests that failed because of a defect of the twin. */
  readonly onError?: (request: string, error: unknown) => void;
};

/** A store behind HTTP. */
export type ServedKube = {
  readonly url: string;
  readonly token: string;
  /** The text of a kubeconfig file for kubectl and client libraries. */
  readonly kubeconfig: string;
  /** Ends all connections and stops listening. */
  readonly close: () => Promise<void>;
};

/**
 * Refuses wrong credentials, and accepts none at all: kubectl sends no token over plain HTTP,
 * whatever its kubeconfig says.
 */
function authorize({ authorization }: IncomingHttpHeaders, token: string): void {
  if (authorization === undefined || authorization === `Bearer ${token}`) return;
  throw new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
}

const orNoSuchPath = (value: object | undefined): object => {
  if (value === undefined) throw noSuchPath();
  return value;
};

const version = (): object => ({
  ...servedVersion,
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: 'linux/amd64',
});

/** The twin's own endpoint: GET returns its time, and POST `{"advanceMs": n}` moves it on. */
async function serveClock(exchange: Exchange): Promise<void> {
  const { clock } = exchange.store;
  if (exchange.request.method === 'POST')
    clock.advance(Math.max(0, Number((await objectBody(exchange))['advanceMs'] ?? 0)));
  answer(exchange, 200, { nowMs: clock.nowMs(), now: new Date(clock.nowMs()).toISOString() });
}

function health(exchange: Exchange): void {
  exchange.response.writeHead(200, { 'Content-Type': 'text/plain' });
  exchange.response.end('ok');
}

/** The OpenAPI v2 document, as JSON, or in protobuf for clients that accept no other. */
function serveOpenApiV2(exchange: Exchange): void {
  const document = openApiV2Document(exchange.store.registry);
  if (!(exchange.request.headers.accept ?? '').includes('protobuf'))
    return answer(exchange, 200, document);
  const bytes = openApiV2Message(document);
  const headers = { 'Content-Type': openApiV2Protobuf, 'Content-Length': bytes.length };
  exchange.response.writeHead(200, headers);
  exchange.response.end(bytes);
}

async function serveTarget(exchange: Exchange, target: Target): Promise<void> {
  const { registry } = exchange.store;
  switch (target.kind) {
    case 'resource':
      return await serveResource(exchange, target);
    case 'versions':
      return answer(exchange, 200, versionList(exchange.request.headers.host ?? ''));
    case 'groups':
      return answer(exchange, 200, groupList(registry));
    case 'group':
      return answer(exchange, 200, orNoSuchPath(groupOf(registry, target.group)));
    case 'resources':
      return answer(
        exchange,
        200,
        orNoSuchPath(resourceList(registry, target.group, target.version)),
      );
    case 'openapi':
      return answer(
        exchange,
        200,
        target.path === undefined
          ? openApiIndex(registry)
          : orNoSuchPath(openApiDocument(registry, target.path)),
      );
    case 'openapi-v2':
      return serveOpenApiV2(exchange);
    case 'version':
      return answer(exchange, 200, version());
    case 'health':
      return health(exchange);
    case 'clock':
      return await serveClock(exchange);
    case 'unknown':
      throw noSuchPath();
  }
}

const statusOf = (thrown: unknown): StatusError =>
  thrown instanceof StatusError
    ? thrown
    : new StatusError({
        code: 500,
        reason: 'InternalError',
        message: `Internal error occurred: ${messageOf(thrown)}`,
      });

function fail(exchange: Exchange, thrown: unknown, options: ServeOptions): void {
  const known = statusOf(thrown);
  if (!(thrown instanceof StatusError))
    options.onError?.(`${exchange.request.method} ${exchange.path}`, thrown);
  if (exchange.response.headersSent) {
    exchange.response.end();
    return;
  }
  if (isNoSuchPath(known)) {
    // Kubernetes' router also answers this in plain text.
    exchange.response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' });
    exchange.response.end('404 page not found\n');
    return;
  }
  const seconds = known.details?.retryAfterSeconds;
  if (seconds !== undefined) exchange.response.setHeader('Retry-After', String(seconds));
  answer(exchange, known.code, known.toStatus());
}

async function serve(
  store: KubeStore,
  request: IncomingMessage,
  response: ServerResponse,
  options: ServeOptions,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://twin');
  const exchange: Exchange = {
    store,
    request,
    response,
    path: url.pathname,
    query: url.searchParams,
    warnings: [],
  };
  try {
    authorize(request.headers, options.token ?? 'twin');
    await serveTarget(exchange, targetOf(url.pathname));
  } catch (thrown) {
    fail(exchange, thrown, options);
  }
}

/** Serves a request to leave HTTP: the port of a pod. A refusal is an answer of HTTP. */
function serveUpgrade(
  store: KubeStore,
  request: IncomingMessage,
  socket: Duplex,
  { token = 'twin' }: ServeOptions,
): void {
  try {
    authorize(request.headers, token);
    servePortForward(store, request, socket);
  } catch (thrown) {
    const status = statusOf(thrown);
    const body = JSON.stringify(status.toStatus());
    socket.end(
      `HTTP/1.1 ${status.code} ${status.reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}

function kubeconfigText(name: string, url: string, token: string): string {
  return `apiVersion: v1
kind: Config
current-context: ${name}
clusters:
- name: ${name}
  cluster:
    server: ${url}
    insecure-skip-tls-verify: true
contexts:
- name: ${name}
  context:
    cluster: ${name}
    user: ${name}
    namespace: default
users:
- name: ${name}
  user:
    token: ${token}
`;
}

function close(server: Server, upgraded: ReadonlySet<Duplex>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
  });
}

/**
 * Serves a store as a Kubernetes API server, over plain HTTP with a bearer token. Rejects when the
 * port is taken.
 */
export async function serveKube(store: KubeStore, options: ServeOptions = {}): Promise<ServedKube> {
  const { host = '127.0.0.1', token = 'twin', clusterName = 'twin' } = options;
  const server = createServer((request, response) => void serve(store, request, response, options));
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request, socket) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    serveUpgrade(store, request, socket, options);
  });
  server.requestTimeout = 0; // Watches last.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, () => resolve());
  });
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    token,
    kubeconfig: kubeconfigText(clusterName, url, token),
    close: () => close(server, upgraded),
  };
}
