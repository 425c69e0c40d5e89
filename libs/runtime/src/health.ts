import type { Log, Service } from '@dovetail/core-ports';
import { fastify } from 'fastify';

/** The state of a service as HTTP shows it. */
export type HealthView = {
  readonly service: Pick<Service, 'ready' | 'debugState'>;
  /** All metrics in Prometheus' text format. */
  readonly metricsText: () => Promise<string>;
  /** The content type of that text. */
  readonly metricsType: string;
};

/** Serves /healthz, /readyz, /metrics and /debug/state. Returns the port that it listens on. */
export async function serveHealth(
  { service, metricsText, metricsType }: HealthView,
  options: { readonly port: number; readonly host: string; readonly log: Log },
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false });
  server.get('/healthz', () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    const conditions = service.ready();
    const ready = Object.values(conditions).every(Boolean);
    await reply.code(ready ? 200 : 503).send({ ready, conditions });
  });
  server.get('/metrics', async (_request, reply) =>
    reply.type(metricsType).send(await metricsText()),
  );
  server.get('/debug/state', async (_request, reply) =>
    reply.type('application/json').send(JSON.stringify(service.debugState(), readable, 2)),
  );
  await server.listen({ port: options.port, host: options.host });
  const address = server.server.address();
  const port = address !== null && typeof address === 'object' ? address.port : options.port;
  options.log.info('listening', `serving health, metrics and debug state on port ${port}`, {
    port,
  });
  return { port, close: () => server.close() };
}

/** Turns maps and sets into JSON. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value as Map<PropertyKey, unknown>);
  if (value instanceof Set) return [...(value as Set<unknown>)];
  return value;
}
