import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { type Bus, BusError, type FollowFrom } from '@dovetail/core-ports';

import { memoryBus } from '../memory/bus.js';
import type { MemoryBusServer } from '../memory/server.js';
import type { QueueName } from '../memory/work.js';
import { type LastAnswer, lineOf, messageJson } from './lines.js';

/** The in-process bus, readable by other processes. */
export type ServedBus = { readonly url: string; readonly close: () => Promise<void> };

/**
 * Lets other processes of this machine follow the streams of an in-process bus, as lines of JSON
 * over HTTP (`readBus`). They can only read: services that share work across processes need NATS.
 */
export async function serveBus(
  server: MemoryBusServer,
  options: { readonly port?: number } = {},
): Promise<ServedBus> {
  const bus = memoryBus(server);
  const http = createServer((request, response) => void answer(bus, request, response));
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen({ port: options.port ?? 0, host: '127.0.0.1' }, resolve);
  });
  return {
    url: `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`,
    close: () => close(http),
  };
}

async function answer(bus: Bus, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bus');
  const stream = searchParams.get('stream') ?? '';
  try {
    if (request.method !== 'GET')
      reply(response, 405, {
        code: 'denied',
        message: 'the in-process bus can only be read from outside',
      });
    else if (pathname === '/position') reply(response, 200, await bus.position(stream));
    else if (pathname === '/last')
      reply(response, 200, await lastOf(bus, stream, searchParams.get('subject') ?? ''));
    else if (pathname === '/lag')
      reply(response, 200, { lag: await bus.lagOf(queueOf(searchParams)) });
    else if (pathname === '/follow')
      await follow(
        bus,
        { stream, filters: searchParams.getAll('filter'), from: startOf(searchParams.get('from')) },
        response,
      );
    else
      reply(response, 404, {
        code: 'no-stream',
        message: `there are /position, /last, /lag and /follow, not ${pathname}`,
      });
  } catch (error) {
    const known = error instanceof BusError ? error : new BusError('unavailable', String(error));
    if (response.headersSent) response.destroy();
    else
      reply(response, known.code === 'no-stream' ? 404 : 503, {
        code: known.code,
        message: known.message,
      });
  }
}

async function lastOf(bus: Bus, stream: string, subject: string): Promise<LastAnswer> {
  const message = await bus.lastMessage(stream, subject);
  return message === undefined ? {} : { message: messageJson(message) };
}

function queueOf(query: URLSearchParams): QueueName {
  const filter = query.get('filter');
  const queue = { stream: query.get('stream') ?? '', name: query.get('name') ?? '' };
  return filter === null ? queue : { ...queue, filter };
}

const startOf = (text: string | null): FollowFrom => {
  if (text === 'now' || text === 'last-per-subject') return text;
  const [, name, number] = /^\{"(sequence|timeMs)":(\d{1,15})\}$/.exec(text ?? '') ?? [];
  if (name === 'sequence') return { sequence: Number(number) };
  return name === 'timeMs' ? { timeMs: Number(number) } : 'first';
};

/** One line an event, for as long as the reader stays. */
async function follow(
  bus: Bus,
  options: {
    readonly stream: string;
    readonly filters: readonly string[];
    readonly from: FollowFrom;
  },
  response: ServerResponse,
): Promise<void> {
  // Checked before the headers are sent, because no reader sees an error after them.
  await bus.position(options.stream);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  response.flushHeaders();
  for await (const event of bus.follow(options, gone.signal)) response.write(lineOf(event));
  response.end();
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function close(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}
