import { BusError, messageOf } from '@dovetail/core-ports';
import {
  type Msg,
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';

/**
 * JetStream's JSON API, spoken directly. Followers must see that a stream was purged or recreated,
 * and the client library's own consumers do not notice.
 */
export type ApiFault = {
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
};

/** The error codes of JetStream that we handle. */
export const faults = {
  streamNotFound: 10_059,
  consumerNotFound: 10_014,
  wrongLastSequence: 10_071,
  streamNameTaken: 10_058,
  storeFailed: 10_077,
  consumerDiffers: 10_012,
} as const;

/** A fault that the API returned. `code` is JetStream's err_code. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  constructor(fault: ApiFault, about: string) {
    super(`${about}: ${fault.description ?? 'error'} (${String(fault.err_code ?? fault.code)})`);
    this.code = fault.err_code ?? fault.code;
  }
}

/** Parses an answer of the API. Throws ApiError for a fault. */
export function parsed<T>(message: Msg, about: string): T {
  const answer = message.json<T & { error?: ApiFault }>();
  if (answer.error !== undefined) throw new ApiError(answer.error, about);
  return answer;
}

/** One call. Rejects with ApiError or BusError. */
export async function api<T>(
  connection: NatsConnection,
  subject: string,
  body: object | undefined,
  timeoutMs: number,
): Promise<T> {
  const about = `$JS.API.${subject}`;
  try {
    return parsed<T>(
      await connection.request(about, body === undefined ? undefined : JSON.stringify(body), {
        timeout: timeoutMs,
      }),
      about,
    );
  } catch (error) {
    throw error instanceof ApiError ? error : busErrorOf(error, about);
  }
}

/** The port's error for whatever the client or the API threw. */
export function busErrorOf(error: unknown, about: string): BusError {
  if (error instanceof BusError) return error;
  const message = `${about}: ${messageOf(error)}`;
  const cause = error instanceof RequestError && error.cause !== undefined ? error.cause : error;
  if (error instanceof ApiError) {
    if (error.code === faults.wrongLastSequence)
      return new BusError('wrong-last-sequence', message, { cause: error });
    // The server stores a message or says why not; a full stream has no code of its own.
    if (error.code === faults.storeFailed && /maximum bytes/i.test(message))
      return new BusError('full', message, { cause: error });
    if (error.code === faults.streamNotFound || error.code === faults.consumerNotFound)
      return new BusError('no-stream', message, { cause: error });
    return new BusError('unavailable', message, { cause: error });
  }
  if (
    cause instanceof NoRespondersError ||
    (error instanceof RequestError && error.isNoResponders())
  )
    return new BusError('no-responders', message, { cause });
  if (cause instanceof TimeoutError) return new BusError('timeout', message, { cause });
  if (cause instanceof PermissionViolationError) return new BusError('denied', message, { cause });
  if (/max_payload/i.test(message)) return new BusError('too-large', message, { cause });
  return new BusError('unavailable', message, { cause });
}

/**
 * The part of JetStream's answer about a stream that we read. `created` tells a stream from one
 * made anew.
 */
export type StreamInfo = {
  readonly created: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly state: {
    readonly messages: number;
    readonly bytes: number;
    readonly first_seq: number;
    readonly last_seq: number;
  };
};

/**
 * A stream with one of these has the server bring messages of other streams, or write on other
 * subjects, whatever a client's rights are. Dovetail's streams have none of them.
 */
const movers = ['mirror', 'sources', 'republish', 'subject_transform'] as const;

function refuseMovers(stream: string, { config }: Pick<StreamInfo, 'config'>): void {
  const found = movers.filter((key) => ![undefined, null].includes(config[key] as null));
  if (found.length > 0)
    throw new BusError(
      'stream-refused',
      `stream ${stream} has ${found.join(' and ')}, which Dovetail does not ask for: find out who made it, and delete it; it is made again`,
    );
}

/**
 * The state of a stream. Undefined when there is no such stream. Rejects with BusError
 * `stream-refused` if the stream moves messages from or to elsewhere.
 */
export async function streamInfo(
  connection: NatsConnection,
  stream: string,
  timeoutMs: number,
): Promise<StreamInfo | undefined> {
  try {
    const info = await api<StreamInfo>(connection, `STREAM.INFO.${stream}`, undefined, timeoutMs);
    refuseMovers(stream, info);
    return info;
  } catch (error) {
    if (error instanceof ApiError && error.code === faults.streamNotFound) return undefined;
    throw busErrorOf(error, `stream ${stream}`);
  }
}

/** Milliseconds as nanoseconds, the unit of durations in the JetStream API. */
export const nanos = (ms: number): number => ms * 1_000_000;
