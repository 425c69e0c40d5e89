import type { Log, Service } from '@dovetail/core-ports';
import { isOwnHost, listenOn } from '@dovetail/runtime';
import type { Console } from '@dovetail/service-console';
import { fastify, type FastifyInstance } from 'fastify';

import { EventStreams } from './event-streams.js';
import type { PageFiles } from './page-files.js';

/** Where the page is served, and to how many. */
export type PageOptions = {
  readonly port: number;
  readonly host: string;
  /** The most pages that are open at once. */
  readonly pagesMax: number;
  /** Names under which the page is served, beside localhost and addresses. */
  readonly hostNames: readonly string[];
  readonly log: Log;
};

/**
 * The page asks its own server alone, runs no script of others, and stands in no frame. Styles of
 * elements are set by script, which needs no exception here.
 */
const safety = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;

/** The console with its page: the page is served for as long as the service runs. */
export function withPage(service: Console, files: PageFiles, options: PageOptions): Service {
  return {
    ready: () => service.ready(),
    debugState: () => service.debugState(),
    async run(stop) {
      const page = await servePage(service, files, options);
      try {
        await service.run(stop);
      } finally {
        await page.close();
      }
    },
  };
}

/**
 * Serves the page, its frames (`events?browser=`, server-sent) and whole decisions
 * (`decision?id=`). Nothing else is there, and only reading is. Paths in the page are relative, so
 * that a proxy may put it below any path.
 */
export async function servePage(
  service: Pick<Console, 'subscribe' | 'decision'>,
  files: PageFiles,
  options: PageOptions,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = fastify({ logger: false, forceCloseConnections: true });
  const streams = new EventStreams(service, options);
  server.addHook('onRequest', async ({ headers }, reply) => {
    reply.headers(safety);
    if (!isOwnHost(headers.host, options.hostNames))
      return reply
        .code(421)
        .send({
          error: `the console is not served as ${headers.host ?? 'a host without a name'}: name it in --page-hosts (or PAGE_HOSTS), or open it as localhost or by an address`,
        });
  });
  for (const [path, { type, body }] of files)
    server.get(path, async (_request, reply) => reply.type(type).send(body));
  server.get('/events', ({ query }, reply) => streams.open(reply, browserOf(query)));
  serveDecisions(server, service);
  const port = await listenOn(server, { ...options, portSetting: '--page-port (or PAGE_PORT)' });
  options.log.info('page-listening', `serving the page on port ${String(port)}`, { port });
  return {
    port,
    close: async () => {
      streams.close();
      await server.close();
    },
  };
}

/** The name that a browser gives itself; empty: it gives none that counts. */
function browserOf(query: unknown): string {
  const { browser } = query as { readonly browser?: unknown };
  return typeof browser === 'string' && /^[0-9a-f]{32}$/.test(browser) ? browser : '';
}

function serveDecisions(server: FastifyInstance, service: Pick<Console, 'decision'>): void {
  server.get('/decision', async ({ query }, reply) => {
    const { id } = query as { readonly id?: unknown };
    if (typeof id !== 'string' || id === '')
      return reply.code(400).send({ error: 'give the id of a decision: decision?id=ID' });
    const decision = service.decision(id);
    return decision === undefined
      ? reply
          .code(404)
          .send({
            error: `the console keeps the last 2,000 decisions, and ${id} is none of them: dovetail explain decision ${id} reads all that the bus keeps`,
          })
      : reply.send(decision);
  });
}
