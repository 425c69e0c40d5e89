import {
  type Bus,
  BusError,
  type DeliveredMessage,
  type FollowEvent,
  type FollowFrom,
  type Headers,
  type Log,
  messageOf,
  type OutgoingMessage,
  type PublishAck,
  type QueueLag,
  type StopSignal,
  type StreamExtent,
  type StreamSpec,
  type WorkerSpec,
  type WorkItem,
} from '@dovetail/core-ports';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';

import { busErrorOf, parsed } from './api.js';
import { NatsLink } from './link.js';
import { headersOf, natsHeaders, payloadOf } from './message.js';
import type { NatsOptions, NatsState } from './options.js';
import { JetStreamReader } from './reader.js';
import { serve } from './serve.js';
import { awaitStream, ensureStream } from './streams.js';
import { work } from './work.js';

/** The bus over NATS, with the state of its connection. `close` ends the connection. */
export type NatsBus = Bus & { state(): NatsState; close(): Promise<void> };

/**
 * Connects in the background and stays connected for ever. A server that is down, too old, or
 * refuses the credentials shows in the log and in `state()`, and is waited for. Calls made in the
 * meantime wait for `timeoutMs` and then reject with BusError. Throws when the credentials cannot
 * be read.
 */
export function connectNats(options: NatsOptions): NatsBus {
  return new JetStreamBus(options);
}

class JetStreamBus implements NatsBus {
  readonly #link: NatsLink;
  readonly #reader: JetStreamReader;
  readonly #log: Log;
  readonly #replicas: number;
  readonly #makesStreams: boolean;
  readonly #specs = new Map<string, StreamSpec>();
  /** Why streams are left out, by their names, as it was last told. */
  readonly #leftOut = new Map<string, string>();

  constructor(options: NatsOptions) {
    this.#link = new NatsLink(options);
    this.#reader = new JetStreamReader(this.#link, options.log, (stream) => this.#remake(stream));
    this.#log = options.log;
    this.#replicas = options.replicas ?? 1;
    this.#makesStreams = options.makesStreams ?? options.credentials === undefined;
  }

  state(): NatsState {
    return this.#link.state;
  }

  connected(): boolean {
    return this.#link.state === 'connected';
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async ensureStreams(specs: readonly StreamSpec[]): Promise<void> {
    for (const spec of specs) this.#specs.set(spec.name, spec);
    const connection = await this.#link.connection();
    await this.#ensureAll(connection, specs);
  }

  async #ensureAll(connection: NatsConnection, specs: Iterable<StreamSpec>): Promise<void> {
    for (const spec of specs) {
      try {
        await this.#ensure(connection, spec);
        this.#isThere(spec.name);
      } catch (error) {
        if (spec.isOptional !== true) throw error;
        this.#leaveOut(spec.name, messageOf(error));
      }
    }
  }

  /** Says why the work goes on without a stream: once, and again when the reason is another. */
  #leaveOut(name: string, why: string): void {
    if (this.#leftOut.get(name) === why) return;
    this.#leftOut.set(name, why);
    this.#log.warn('stream-left-out', `the work goes on without ${name}: ${why}`);
  }

  #isThere(name: string): void {
    if (this.#leftOut.delete(name))
      this.#log.info('stream-made', `${name} is there now, which was left out`);
  }

  async publish(message: OutgoingMessage): Promise<PublishAck> {
    const connection = await this.#link.connection();
    try {
      return await this.#publishOnce(connection, message);
    } catch (error) {
      // No stream covers the subject. It was deleted, so every publisher that knows its
      // specification and may make it does so.
      if (!(error instanceof BusError) || error.code !== 'no-responders') throw error;
      await this.#ensureAll(connection, this.#specs.values());
      return await this.#publishOnce(connection, message).catch((again: unknown) => {
        throw again instanceof BusError && again.code === 'no-responders'
          ? new BusError('no-stream', `no stream holds ${message.subject}`, { cause: again })
          : again;
      });
    }
  }

  async #publishOnce(connection: NatsConnection, message: OutgoingMessage): Promise<PublishAck> {
    try {
      const answer = await connection.request(message.subject, message.payload, {
        timeout: this.#link.timeoutMs,
        headers: publishHeaders(message),
      });
      const ack = parsed<{ stream: string; seq: number; duplicate?: boolean }>(
        answer,
        message.subject,
      );
      return { stream: ack.stream, sequence: ack.seq, duplicate: ack.duplicate ?? false };
    } catch (error) {
      throw busErrorOf(error, message.subject);
    }
  }

  follow(
    options: { stream: string; filters: readonly string[]; from?: FollowFrom },
    stop: StopSignal,
  ): AsyncIterable<FollowEvent> {
    return this.#reader.follow(options, stop);
  }

  work(spec: WorkerSpec, stop: StopSignal): AsyncIterable<WorkItem> {
    const deps = {
      link: this.#link,
      log: this.#log,
      remake: async (stream: string): Promise<void> => {
        await this.#remake(stream);
      },
    };
    return work(deps, spec, stop);
  }

  lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>> {
    return this.#reader.lastSequences(stream, filter);
  }

  position(stream: string): Promise<StreamExtent> {
    return this.#reader.position(stream);
  }

  bytesOf(stream: string): Promise<number> {
    return this.#reader.bytesOf(stream);
  }

  lagOf(queue: WorkerSpec): Promise<QueueLag | undefined> {
    return this.#reader.lagOf(queue);
  }

  lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined> {
    return this.#reader.lastMessage(stream, subject);
  }

  async request(
    subject: string,
    payload: Uint8Array,
    options: { timeoutMs: number; headers?: Headers },
  ): Promise<DeliveredMessage> {
    const connection = await this.#link.connection(options.timeoutMs);
    const answer = await requested(connection, subject, payload, options);
    const headers = headersOf(answer.headers);
    const failure = headers['Nats-Service-Error'];
    if (failure !== undefined) throw new BusError('unavailable', `${subject}: ${failure}`);
    return { subject, payload: payloadOf(answer.data), headers, sequence: 0, timeMs: Date.now() };
  }

  serve(
    options: { subject: string; queue: string },
    handler: (request: DeliveredMessage) => Promise<Uint8Array>,
    stop: StopSignal,
  ): Promise<void> {
    return serve({ link: this.#link, log: this.#log }, options, handler, stop);
  }

  #ensure(connection: NatsConnection, spec: StreamSpec): Promise<void> {
    const { timeoutMs } = this.#link;
    return this.#makesStreams
      ? ensureStream(connection, spec, { replicas: this.#replicas, timeoutMs })
      : awaitStream(connection, spec, timeoutMs);
  }

  /** Streams that this process has ensured and may make are made again when they are lost. */
  async #remake(stream: string): Promise<boolean> {
    const spec = this.#specs.get(stream);
    if (spec === undefined) return false;
    await this.#ensure(await this.#link.connection(), spec);
    return true;
  }
}

function publishHeaders(message: OutgoingMessage): MsgHdrs {
  const made = natsHeaders(message.headers ?? {});
  if (message.messageId !== undefined) made.set('Nats-Msg-Id', message.messageId);
  if (message.expectLastSubjectSequence !== undefined)
    made.set('Nats-Expected-Last-Subject-Sequence', String(message.expectLastSubjectSequence));
  if (message.ttlMs !== undefined)
    made.set('Nats-TTL', `${String(Math.max(1, Math.ceil(message.ttlMs / 1_000)))}s`);
  return made;
}

async function requested(
  connection: NatsConnection,
  subject: string,
  payload: Uint8Array,
  options: { timeoutMs: number; headers?: Headers },
): Promise<Msg> {
  try {
    return await connection.request(subject, payload, {
      timeout: options.timeoutMs,
      ...(options.headers === undefined ? {} : { headers: natsHeaders(options.headers) }),
    });
  } catch (error) {
    throw busErrorOf(error, subject);
  }
}
