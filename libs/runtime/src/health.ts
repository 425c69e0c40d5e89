import { Readable } from 'node:stream';

import type { Log, Service } from '@dovetail/core-ports';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';

import { isOwnHost } from './host-names.js';
import { listenOn } from './listen.js';
import type { ProcessVitals } from './vitals.js';

/** The state of a service as HTTP shows it. */
export type HealthView = {
  readonly service: Pick<Service, 'ready' | 'debugState' | 'explain'>;
  /** Absent: every loop counts as well. */
  readonly vitals?: Pick<ProcessVitals, 'hung'>;
  /** All metrics in Prometheus' text format, in parts. */
  readonly metricsText: () => AsyncIterable<string>;
  /** The content type of that text. */
  readonly metricsType: string;
};

/**
 * Serves /healthz, /readyz, /metrics, /debug/state and /debug/explain. Returns the port that it
 * listens on. The last two name nodes, claims and pods, so only callers of the same host get them.
 */
export async function serveHealth(
  { service, vitals, metricsText, metricsType }: HealthView,
  options: { readonly port: number; readonly host: string; readonly log: Log },
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false });
  server.get('/healthz', async (_request, reply) => {
    const hung = vitals?.hung() ?? [];
    const isAlive = hung.length === 0;
    if (!isAlive)
      options.log.error('hung', `work that must end does not: ${hung.join(', ')}`, { loops: hung });
    await reply.code(isAlive ? 200 : 503).send({ status: isAlive ? 'ok' : 'hung', hung });
  });
  server.get('/readyz', async (_request, reply) => {
    const conditions = service.ready();
    const ready = Object.values(conditions).every(Boolean);
    await reply.code(ready ? 200 : 503).send({ ready, conditions });
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metricsType).send(Readable.from(metricsText())),
  );
  serveDebug(server, service);
  const port = await listenOn(server, { ...options, portSetting: '--http-port (or HTTP_PORT)' });
  options.log.info('listening', `serving health, metrics and debug state on port ${port}`, {
    port,
  });
  return { port, close: () => server.close() };
}

/** Serves what only callers of the same host may see: the state, and why a node stays or goes. */
function serveDebug(server: FastifyInstance, service: HealthView['service']): void {
  server.get('/debug/state', async (request, reply) =>
    isNear(request)
      ? reply.type('application/json').send(JSON.stringify(service.debugState(), readable, 2))
      : reply.code(403).send(forbidden),
  );
  server.get('/debug/explain', async (request, reply) => {
    if (!isNear(request)) return reply.code(403).send(forbidden);
    const { node } = request.query as { readonly node?: unknown };
    if (service.explain === undefined)
      return reply.code(404).send({ error: 'this service explains no nodes: ask the reaper' });
    if (typeof node !== 'string' || node === '')
      return reply.code(400).send({ error: 'give the name of a node: /debug/explain?node=NAME' });
    const explained = service.explain(node);
    return explained === undefined
      ? reply.code(404).send({ error: `there is no node or NodeClaim ${node} of a pool` })
      : reply.type('application/json').send(JSON.stringify(explained, readable, 2));
  });
}

const forbidden = {
  error: 'ask from the same host, or by kubectl port-forward, as localhost or by an address',
};

/** Whether a caller is on this host, and no page of another name that a browser of it shows. */
const isNear = ({ socket, headers }: Pick<FastifyRequest, 'socket' | 'headers'>): boolean =>
  isLoopback(socket.remoteAddress) && isOwnHost(headers.host);

/** Whether a caller is on this host. `kubectl port-forward` calls from within the pod. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(::ffff:)?127\.|^::1$/.test(address);

/** Turns maps and sets into JSON. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value as Map<PropertyKey, unknown>);
  if (value instanceof Set) return [...(value as Set<unknown>)];
  return value;
}
