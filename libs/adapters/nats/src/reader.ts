import {
  BusError,
  type DeliveredMessage,
  type FollowEvent,
  type FollowFrom,
  type Log,
  neverStopping,
  type QueueLag,
  type StopSignal,
  type StreamExtent,
  type StreamReader,
  type WorkerSpec,
} from '@dovetail/core-ports';
import type { Msg } from '@nats-io/transport-node';

import { api, ApiError, busErrorOf, faults, type StreamInfo, streamInfo } from './api.js';
import { follow } from './follow.js';
import { NatsLink } from './link.js';
import { headersOf, payloadOf } from './message.js';
import type { NatsOptions, NatsState } from './options.js';

/** A reader of streams, with the state of its connection. `close` ends the connection. */
export type NatsReader = StreamReader & { state(): NatsState; close(): Promise<void> };

/**
 * Connects for reading only, in the background and for ever, as `connectNats` does. It needs no
 * right to publish or to make streams, and waits for a missing stream.
 */
export function connectNatsReader(options: NatsOptions): NatsReader {
  return new JetStreamReader(new NatsLink(options), options.log, () => Promise.resolve(false));
}

type QueueName = Pick<WorkerSpec, 'stream' | 'name'>;

/** The part of JetStream's answer about a consumer that we read. */
type ConsumerInfo = { readonly num_pending: number; readonly num_ack_pending: number };

/** Makes a missing stream. Returns false if it does not know the stream. */
type RemakeStream = (stream: string) => Promise<boolean>;

/** The reading half of the bus over one connection. */
export class JetStreamReader implements NatsReader {
  readonly #link: NatsLink;
  readonly #log: Log;
  readonly #remake: RemakeStream;

  constructor(link: NatsLink, log: Log, remake: RemakeStream) {
    this.#link = link;
    this.#log = log;
    this.#remake = remake;
  }

  state(): NatsState {
    return this.#link.state;
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  follow(
    options: { stream: string; filters: readonly string[]; from?: FollowFrom },
    stop: StopSignal,
  ): AsyncIterable<FollowEvent> {
    return follow(this.#deps(), { ...options, from: options.from ?? 'last-per-subject' }, stop);
  }

  async lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>> {
    await this.position(stream);
    const connection = await this.#link.connection();
    const held = await api<StreamInfo & { state: { subjects?: Record<string, number> } }>(
      connection,
      `STREAM.INFO.${stream}`,
      { subjects_filter: filter },
      this.#link.timeoutMs,
    );
    // A work queue allows no second consumer. It holds few subjects, so they are looked up one by
    // one.
    if (held.config['retention'] === 'workqueue')
      return this.#lastOf(stream, Object.keys(held.state.subjects ?? {}));
    const found = new Map<string, number>();
    for await (const event of follow(
      this.#deps(),
      { stream, filters: [filter], from: 'last-per-subject', headersOnly: true },
      neverStopping,
    )) {
      if (event.kind === 'message') found.set(event.message.subject, event.message.sequence);
      else if (event.kind === 'reset') found.clear();
      else break;
    }
    return found;
  }

  async #lastOf(stream: string, subjects: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const subject of [...subjects].sort()) {
      const message = await this.lastMessage(stream, subject);
      if (message !== undefined) found.set(subject, message.sequence);
    }
    return found;
  }

  async position(stream: string): Promise<StreamExtent> {
    const { created, state } = await this.#info(stream);
    // A stream that never held a message begins at 0.
    const firstSequence = Math.max(1, state.first_seq);
    return { incarnation: created, firstSequence, lastSequence: state.last_seq };
  }

  async bytesOf(stream: string): Promise<number> {
    return (await this.#info(stream)).state.bytes;
  }

  async lagOf({ stream, name }: QueueName): Promise<QueueLag | undefined> {
    const connection = await this.#link.connection();
    const about = `CONSUMER.INFO.${stream}.${name}`;
    try {
      const info = await api<ConsumerInfo>(connection, about, undefined, this.#link.timeoutMs);
      return { waiting: info.num_pending, taken: info.num_ack_pending };
    } catch (error) {
      if (error instanceof ApiError && error.code === faults.consumerNotFound) return undefined;
      throw busErrorOf(error, about);
    }
  }

  async #info(stream: string): Promise<StreamInfo> {
    const connection = await this.#link.connection();
    let info = await streamInfo(connection, stream, this.#link.timeoutMs);
    if (info === undefined && (await this.#remake(stream)))
      info = await streamInfo(connection, stream, this.#link.timeoutMs);
    if (info === undefined) throw new BusError('no-stream', `there is no stream ${stream}`);
    return info;
  }

  async lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined> {
    const connection = await this.#link.connection();
    try {
      const answer = await connection.request(
        `$JS.API.DIRECT.GET.${stream}.${subject}`,
        undefined,
        { timeout: this.#link.timeoutMs },
      );
      return directMessage(answer, subject);
    } catch (error) {
      const failure = busErrorOf(error, `${stream} ${subject}`);
      throw failure.code === 'no-responders'
        ? new BusError('no-stream', `there is no stream ${stream}`, { cause: failure })
        : failure;
    }
  }

  #deps(): {
    readonly link: NatsLink;
    readonly log: Log;
    readonly remake: (stream: string) => Promise<void>;
  } {
    return {
      link: this.#link,
      log: this.#log,
      remake: async (stream) => {
        await this.#remake(stream);
      },
    };
  }
}

function directMessage(answer: Msg, subject: string): DeliveredMessage | undefined {
  if (answer.headers?.code === 404) return undefined;
  if (answer.headers !== undefined && answer.headers.code >= 400)
    throw new ApiError(
      { code: answer.headers.code, description: answer.headers.description },
      subject,
    );
  const headers = headersOf(answer.headers);
  const timeMs = Date.parse(headers['Nats-Time-Stamp'] ?? '');
  return {
    subject: headers['Nats-Subject'] ?? subject,
    payload: payloadOf(answer.data),
    headers,
    sequence: Number(headers['Nats-Sequence'] ?? 0),
    timeMs: Number.isNaN(timeMs) ? 0 : timeMs,
  };
}
