import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** One answer, read to its end. */
export type HttpAnswer = { readonly status: number; readonly body: string };

/** The options of a request. `ca` is the PEM text that the server's certificate must chain to. */
export type HttpRequest = {
  readonly method?: string;
  readonly ca?: string;
  readonly token?: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly deadlineMs?: number;
};

/** Sends a single request on a connection of its own. Readiness checks need no client library. */
export function httpRequest(url: string, options: HttpRequest = {}): Promise<HttpAnswer> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  const headers = {
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    ...(options.body === undefined
      ? {}
      : { 'content-type': options.contentType ?? 'application/json' }),
  };
  const signal = AbortSignal.timeout(options.deadlineMs ?? 2_000);
  return new Promise((resolve, reject) => {
    const call = send(url, {
      method: options.method ?? 'GET',
      headers,
      agent: false,
      signal,
      ...caOf(options),
    });
    call.once('error', reject);
    call.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    call.end(options.body);
  });
}

const caOf = (options: HttpRequest): { ca?: string } =>
  options.ca === undefined ? {} : { ca: options.ca };
