import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { messageOf } from '@dovetail/core-ports';

import { AwsFault, NotServedFault } from '../foundation/aws-fault.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { controlAnswer, followEvents } from './control.js';
import { credentialsOf } from './credentials.js';
import { type WireAnswer, type WireCall, wireCall, type WireRequest } from './protocols.js';

/** Where the twin is served, and to whom. */
export type ServeOptions = {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1, because the control API has no access control. */
  readonly host?: string;
  /** The access keys that exist. Default: every key is accepted. */
  readonly accessKeys?: readonly string[];
  /**
   * Receives defects of the twin itself, which callers see as InternalError. Default: standard
   * error.
   */
  readonly onDefect?: (error: unknown) => void;
  /** Receives each call that AWS would answer and the twin does not serve. */
  readonly onNotServed?: (call: { readonly action: string; readonly reason: string }) => void;
};

/** The twin behind its wire protocols. */
export type ServedCloud = {
  readonly port: number;
  readonly endpoint: string;
  close(): Promise<void>;
};

/** Larger than any request of the services; SQS messages are the largest. */
const bodyBytesMax = 4 * 1_048_576;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax)
      throw new AwsFault(
        'RequestEntityTooLarge',
        `The request is larger than ${bodyBytesMax} bytes`,
        413,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, answer: WireAnswer): void {
  if (response.destroyed) return;
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  });
  response.end(answer.body);
}

const json = (status: number, value: unknown): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

async function answerCall(
  twin: CloudTwin,
  options: ServeOptions,
  call: WireCall,
  authorization: string | undefined,
): Promise<WireAnswer> {
  try {
    const { accessKey } = credentialsOf(authorization, {
      service: call.service,
      region: twin.account.region,
      ...(options.accessKeys === undefined ? {} : { accessKeys: options.accessKeys }),
    });
    return await twin.gate.run(call.action, { accessKey, resources: call.resources }, () => {
      const denial = twin.identities.denial(accessKey, call.service, () => call.access(twin));
      if (denial !== undefined) throw denial;
      return call.answer(twin, { accessKey });
    });
  } catch (error) {
    if (error instanceof NotServedFault)
      options.onNotServed?.({ action: call.action, reason: error.message });
    if (error instanceof AwsFault) return call.fault(error);
    (
      options.onDefect ??
      ((defect) => {
        console.error('cloud twin defect', defect);
      })
    )(error);
    return call.fault(new AwsFault('InternalError', 'An internal error has occurred', 500));
  }
}

/** Waits for the call's effect. A caller that hung up gets no answer. */
async function serveAws(
  twin: CloudTwin,
  options: ServeOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const stop = new AbortController();
  response.once('close', () => {
    stop.abort();
  });
  const url = new URL(request.url ?? '/', 'http://twin');
  const target = request.headers['x-amz-target'];
  const wire: WireRequest = {
    method: request.method ?? 'GET',
    path: url.pathname,
    body: await bodyOf(request),
    origin: `http://${request.headers.host ?? 'localhost'}`,
    stop: stop.signal,
    ...(typeof target === 'string' ? { target } : {}),
  };
  const call = wireCall(wire);
  if (call === undefined) {
    const action = `${wire.method} ${wire.path}`;
    const reason = `${action} is in none of the AWS protocols that the cloud twin serves`;
    options.onNotServed?.({ action, reason });
    send(response, json(404, { message: reason }));
  } else send(response, await answerCall(twin, options, call, request.headers.authorization));
}

async function serveControl(
  twin: CloudTwin,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://twin');
  if (url.pathname === '/_twin/events') {
    followEvents(twin, url.searchParams, response);
    return;
  }
  const { status, value } = controlAnswer(twin, {
    method: request.method ?? 'GET',
    path: url.pathname.slice('/_twin/'.length),
    body: await bodyOf(request),
  });
  send(response, json(status, value));
}

function handler(
  twin: CloudTwin,
  options: ServeOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const served =
      request.url?.startsWith('/_twin/') === true
        ? serveControl(twin, request, response)
        : serveAws(twin, options, request, response);
    served.catch((error: unknown) => {
      send(
        response,
        json(error instanceof AwsFault ? error.status : 500, { message: messageOf(error) }),
      );
    });
  };
}

async function listen(server: Server, options: ServeOptions): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/**
 * Serves the twin to AWS SDK clients at one endpoint, with the control API under `/_twin/`. EC2,
 * IAM and STS use the query protocol, SSM, SQS and Pricing use JSON, and EKS uses REST. Closing
 * ends open calls; the twin lives on.
 */
export async function serveCloud(
  twin: CloudTwin,
  options: ServeOptions = {},
): Promise<ServedCloud> {
  const server = createServer(handler(twin, options));
  // Longer than clients keep a socket idle, so that no request meets a socket that is just being
  // closed.
  server.keepAliveTimeout = 120_000;
  const port = await listen(server, options);
  return {
    port,
    endpoint: `http://${options.host ?? '127.0.0.1'}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
