import { setTimeout as sleep } from 'node:timers/promises';

import {
  KubeError,
  type KubeErrorCode,
  type KubeResource,
  LeadershipLost,
  messageOf,
  type StopSignal,
} from '@dovetail/core-ports';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Dispatcher, request as ask } from 'undici';

import type { AnswerDates } from './answer-dates.js';
import { Connections } from './connections.js';
import {
  defaultBindingPace,
  defaultPace,
  type RequestPace,
  RequestPacer,
  type Urgency,
} from './request-pacer.js';

/** One request to the API server. Paths and bodies follow Kubernetes' API conventions. */
export type RestRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** A watch holds its connection while it lasts. Absent: an ordinary request. */
  readonly kind?: 'request' | 'watch';
  /** Absent: ordinary. */
  readonly urgency?: Urgency;
};

/** The answer of a request, with its body still to be read. */
export type RestResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

/** Requests over one connection. */
export type Rest = {
  /**
   * Rejects with KubeError for any status but 2xx. The caller must read the body to the end or
   * destroy it.
   */
  readonly send: (request: RestRequest) => Promise<RestResponse>;
  /** The parsed body. Rejects with KubeError. */
  readonly json: <T>(request: RestRequest) => Promise<T>;
};

/** How patiently and how fast a connection asks. */
export type RestOptions = {
  readonly timeoutMs: number;
  readonly pace?: RequestPace;
  /** The pace of bindings of pods, which take nothing from the other. */
  readonly bindingPace?: RequestPace;
  /**
   * Whether this process may write, asked when the turn of a write has come: it may have waited
   * while another replica became the leader. Leases and Events do not ask. Absent: it always may.
   */
  readonly mayWrite?: () => boolean;
  /** Learns the server's clock from its answers. */
  readonly dates?: AnswerDates;
};

/**
 * Raw JSON in and out, with the library's authentication and TLS. The library's typed clients turn
 * timestamps into Dates and drop fields they do not know, and so would break projections and CRDs.
 */
export function restOver(config: KubeConfig, options: RestOptions): Rest {
  const server = config.getCurrentCluster()?.server.replace(/\/$/, '');
  if (server === undefined)
    throw new KubeError(
      'unavailable',
      'the kubeconfig names no current cluster; set KUBECONFIG or run inside a cluster',
    );
  const connections = new Connections(config, server);
  const pacer = new RequestPacer(options.pace ?? defaultPace);
  const bindings = new RequestPacer(options.bindingPace ?? defaultBindingPace);
  const once = async (request: RestRequest): Promise<RestResponse> => {
    await (isBinding(request) ? bindings : pacer).take(urgencyOf(request));
    const { headers, dispatcher } = await connections.to(request.kind ?? 'request');
    if (isLeadersWrite(request) && options.mayWrite?.() === false)
      throw new LeadershipLost(`${request.method} ${request.path}: another replica may lead`);
    const answered = options.dates?.begin();
    const response = await ask(urlOf(server, request), {
      method: request.method,
      dispatcher,
      headers: { ...headers, accept: 'application/json', ...contentTypeOf(request) },
      signal: request.signal ?? AbortSignal.timeout(options.timeoutMs),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    }).catch((cause: unknown) => {
      throw unanswered(request, server, cause);
    });
    answered?.(response.headers.date);
    if (response.statusCode < 200 || response.statusCode > 299)
      throw await errorOf(request, response);
    return response;
  };
  const send = (request: RestRequest): Promise<RestResponse> =>
    patiently(request, once, (waitMs) => {
      // The others of its kind would be refused as well.
      if (isBinding(request)) bindings.rest(waitMs);
    });
  return {
    send,
    json: async <T>(request: RestRequest) => (await parsed(request, await send(request))) as T,
  };
}

const unanswered = (request: RestRequest, server: string, cause: unknown): KubeError =>
  new KubeError(
    'unavailable',
    `${request.method} ${request.path}: the API server at ${server} did not answer: ${messageWithCause(cause)}`,
    { cause },
  );

/** Tries in all of a write that the server has no time for. */
const triesMax = 4;
/** The wait when the server names none, and the longest that is granted, in milliseconds. */
const [busyWaitMs, busyWaitMaxMs] = [1_000, 5_000];

/**
 * Sends a write again that the server refused because it has too much to do, after the time that it
 * asks for (Retry-After). It has done nothing of it. Each try asks `once` anew, which asks whether
 * this process may still write. Rejects with the last KubeError.
 */
async function patiently(
  request: RestRequest,
  once: (request: RestRequest) => Promise<RestResponse>,
  onBusy: (waitMs: number) => void,
): Promise<RestResponse> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(request);
    } catch (error) {
      const isBusy = error instanceof KubeError && error.code === 'too-many-requests';
      if (!isBusy || !isPatient(request) || tries >= triesMax) throw error;
      const { retryAfterSeconds } = error;
      const askedMs = retryAfterSeconds === undefined ? busyWaitMs : retryAfterSeconds * 1_000;
      const waitMs = Math.min(busyWaitMaxMs, askedMs);
      onBusy(waitMs);
      await sleep(waitMs);
    }
  }
}

const isBinding = ({ method, path }: RestRequest): boolean =>
  method === 'POST' && path.endsWith('/binding');

/**
 * Statuses, nodes, promises and bindings wait. Creations and evictions have patience of their own,
 * a Lease is renewed in time or lost, and Events may be late.
 */
const isPatient = (request: RestRequest): boolean =>
  isBinding(request) ||
  (['PUT', 'PATCH'].includes(request.method) && !isOfLease(request) && !isOfEvent(request));

const isOfLease = ({ path }: RestRequest): boolean => path.startsWith('/apis/coordination.k8s.io/');
const isOfEvent = ({ path }: RestRequest): boolean => /\/events(\/|\?|$)/.test(path);

/** A standby writes to the Lease as well, and tells of what keeps it from its work. */
const isLeadersWrite = (request: RestRequest): boolean =>
  request.method !== 'GET' && !isOfLease(request) && !isOfEvent(request);

/** A Lease is renewed in time or lost, so no other request goes before it. */
const urgencyOf = (request: RestRequest): Urgency => {
  if (isOfLease(request)) return 'urgent';
  // A scale-up writes an Event for each pod; they are not to hold up its bindings.
  return request.urgency ?? (isOfEvent(request) ? 'spare' : 'ordinary');
};

/** The same connection, whose requests overtake ordinary ones that wait for their turn. */
export const urgently = ({ send, json }: Rest): Rest => ({
  send: (request) => send({ ...request, urgency: 'urgent' }),
  json: (request) => json({ ...request, urgency: 'urgent' }),
});

async function parsed(request: RestRequest, response: RestResponse): Promise<unknown> {
  try {
    return await response.body.json();
  } catch (cause) {
    throw new KubeError(
      'unavailable',
      `${request.method} ${request.path}: the answer was cut off or is not JSON: ${messageWithCause(cause)}`,
      { cause },
    );
  }
}

const contentTypeOf = (request: RestRequest): Record<string, string> =>
  request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' };

function urlOf(server: string, request: RestRequest): string {
  const url = new URL(server + request.path);
  for (const [name, value] of Object.entries(request.query ?? {}))
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  return url.toString();
}

/** `/api/v1/namespaces/x/pods/y/status`, for every kind of resource. */
export function pathOf(
  resource: KubeResource,
  at: { namespace?: string | undefined; name?: string; subresource?: string } = {},
): string {
  const root =
    resource.group === ''
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.namespaced && at.namespace !== undefined
      ? `/namespaces/${encodeURIComponent(at.namespace)}`
      : '';
  const name = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`;
  return `${root}${scope}/${resource.plural}${name}${at.subresource === undefined ? '' : `/${at.subresource}`}`;
}

/** The parts of a Status of the Kubernetes API that decide what an error means. */
export type Status = {
  message?: string;
  reason?: string;
  details?: {
    retryAfterSeconds?: number;
    name?: string;
    causes?: readonly { reason?: string; message?: string }[];
  };
};

/**
 * Whether the server has not reached the version that was asked for, and may never: its etcd was
 * restored from a backup, or another server answers. Since 1.19 a cause names it; before, only the
 * message did (k8s.io/apimachinery, NewTooLargeResourceVersionError).
 */
const isVersionTooLarge = ({ details, message = '' }: Status): boolean =>
  details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') === true ||
  /too large resource version/i.test(message);

async function errorOf(request: RestRequest, response: RestResponse): Promise<KubeError> {
  const text = await response.body.text().catch(() => '');
  const status = statusOf(text);
  const retryAfter =
    status.details?.retryAfterSeconds ?? Number(response.headers['retry-after'] ?? Number.NaN);
  return new KubeError(
    codeOf(response.statusCode, status),
    `${request.method} ${request.path}: ${status.message ?? (text.slice(0, 300) || `status ${response.statusCode}`)}`,
    { ...(Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}) },
  );
}

function statusOf(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return {};
  }
}

/**
 * The meaning of an HTTP status in the Kubernetes API. A 404 without object details is a resource
 * that is not served at all. https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
export function codeOf(httpStatus: number, status: Status): KubeErrorCode {
  switch (httpStatus) {
    case 401:
    case 403:
      return 'denied';
    case 404:
      return status.details?.name === undefined && status.reason !== 'NotFound'
        ? 'no-such-resource'
        : 'not-found';
    case 409:
      return status.reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    case 410:
      return 'gone';
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return 'invalid';
    case 429:
      return 'too-many-requests';
    default:
      return isVersionTooLarge(status) ? 'gone' : 'unavailable';
  }
}

/** The error's message, and that of its cause: undici puts the network's error there. */
export const messageWithCause = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message} (${error.cause.message})`
    : messageOf(error);

/**
 * An AbortSignal that follows a StopSignal. Release it after the call, or a long-lived `stop`
 * collects listeners.
 */
export function abortOn(stop: StopSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (stop.aborted) abort();
  stop.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, release: () => stop.removeEventListener('abort', abort) };
}
