import {
  type Bus, BusError, type DeliveredMessage, type FollowEvent, type FollowFrom, type Headers, type Log, type OutgoingMessage, type PublishAck, type StopSignal, type StreamPosition,
  type StreamSpec, type WorkerSpec, type WorkItem,
} from '@dovetail/core-ports';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import { api, ApiError, busErrorOf, parsed, streamInfo, type StreamInfo } from './api.js';
import { follow } from './follow.js';
import { NatsLink } from './link.js';
import { headersOf, natsHeaders } from './message.js';
import type { NatsOptions, NatsState } from './options.js';
import { serve } from './serve.js';
import { ensureStream } from './streams.js';
import { work } from './work.js';

/** The bus over NATS, with what its owner needs beside the port. */
export type NatsBus = Bus & { state(): NatsState; close(): Promise<void> };

/**
 * Connects in the background and stays connected for ever: a server that is down, too old, or refuses the credentials is said in the log
 * and in `state()`, and waited for. Calls made meanwhile wait a while and then reject with BusError.
 */
export function connectNats(options: NatsOptions): NatsBus {
  return new JetStreamBus(options);
}

const noStop: StopSignal = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined };

class JetStreamBus implements NatsBus {
  readonly #link: NatsLink;
  readonly #log: Log;
  readonly #replicas: number;
  readonly #specs = new Map<string, StreamSpec>();

  constructor(options: NatsOptions) {
    this.#link = new NatsLink(options);
    this.#log = options.log;
    this.#replicas = options.replicas ?? 1;
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
    for (const spec of specs) await this.#ensure(connection, spec);
  }

  async publish(message: OutgoingMessage): Promise<PublishAck> {
    const connection = await this.#link.connection();
    try {
      return await this.#publishOnce(connection, message);
    } catch (error) {
      // No stream covers the subject: it was deleted, and everyone who knows it makes it again.
      if (!(error instanceof BusError) || error.code !== 'no-responders') throw error;
      for (const spec of this.#specs.values()) await this.#ensure(connection, spec);
      return await this.#publishOnce(connection, message).catch((again: unknown) => {
        throw again instanceof BusError && again.code === 'no-responders' ? new BusError('no-stream', `no stream holds ${message.subject}`, { cause: again }) : again;
      });
    }
  }

  async #publishOnce(connection: NatsConnection, message: OutgoingMessage): Promise<PublishAck> {
    try {
      const answer = await connection.request(message.subject, message.payload, { timeout: this.#link.timeoutMs, headers: publishHeaders(message) });
      const ack = parsed<{ stream: string; seq: number; duplicate?: boolean }>(answer, message.subject);
      return { stream: ack.stream, sequence: ack.seq, duplicate: ack.duplicate ?? false };
    } catch (error) {
      throw busErrorOf(error, message.subject);
    }
  }

  follow(options: { stream: string; filters: readonly string[]; from?: FollowFrom }, stop: StopSignal): AsyncIterable<FollowEvent> {
    return follow(this.#deps(), { ...options, from: options.from ?? 'last-per-subject' }, stop);
  }

  work(spec: WorkerSpec, stop: StopSignal): AsyncIterable<WorkItem> {
    return work(this.#deps(), spec, stop);
  }

  async lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>> {
    await this.position(stream);
    const connection = await this.#link.connection();
    const held = await api<StreamInfo & { state: { subjects?: Record<string, number> } }>(connection, `STREAM.INFO.${stream}`, { subjects_filter: filter }, this.#link.timeoutMs);
    // A work queue allows no consumer beside its own; it holds few subjects, which are looked up one by one.
    if (held.config['retention'] === 'workqueue') return this.#lastOf(stream, Object.keys(held.state.subjects ?? {}));
    const found = new Map<string, number>();
    for await (const event of follow(this.#deps(), { stream, filters: [filter], from: 'last-per-subject', headersOnly: true }, noStop)) {
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

  async position(stream: string): Promise<StreamPosition> {
    const connection = await this.#link.connection();
    let info = await streamInfo(connection, stream, this.#link.timeoutMs);
    const spec = this.#specs.get(stream);
    if (info === undefined && spec !== undefined) {
      await this.#ensure(connection, spec);
      info = await streamInfo(connection, stream, this.#link.timeoutMs);
    }
    if (info === undefined) throw new BusError('no-stream', `there is no stream ${stream}`);
    return { incarnation: info.created, lastSequence: info.state.last_seq };
  }

  async lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined> {
    const connection = await this.#link.connection();
    try {
      const answer = await connection.request(`$JS.API.DIRECT.GET.${stream}.${subject}`, undefined, { timeout: this.#link.timeoutMs });
      return directMessage(answer, subject);
    } catch (error) {
      const failure = busErrorOf(error, `${stream} ${subject}`);
      throw failure.code === 'no-responders' ? new BusError('no-stream', `there is no stream ${stream}`, { cause: failure }) : failure;
    }
  }

  async request(subject: string, payload: Uint8Array, options: { timeoutMs: number; headers?: Headers }): Promise<DeliveredMessage> {
    const connection = await this.#link.connection(options.timeoutMs);
    const answer = await requested(connection, subject, payload, options);
    const headers = headersOf(answer.headers);
    const failure = headers['Nats-Service-Error'];
    if (failure !== undefined) throw new BusError('unavailable', `${subject}: ${failure}`);
    return { subject, payload: answer.data, headers, sequence: 0, timeMs: Date.now() };
  }

  serve(options: { subject: string; queue: string }, handler: (request: DeliveredMessage) => Promise<Uint8Array>, stop: StopSignal): Promise<void> {
    return serve({ link: this.#link, log: this.#log }, options, handler, stop);
  }

  #ensure(connection: NatsConnection, spec: StreamSpec): Promise<void> {
    return ensureStream(connection, spec, { replicas: this.#replicas, timeoutMs: this.#link.timeoutMs });
  }

  #deps(): { readonly link: NatsLink; readonly log: Log; readonly remake: (stream: string) => Promise<void> } {
    return { link: this.#link, log: this.#log, remake: async (stream) => {
      const spec = this.#specs.get(stream);
      if (spec !== undefined) await this.#ensure(await this.#link.connection(), spec);
    } };
  }
}

function publishHeaders(message: OutgoingMessage): MsgHdrs {
  const made = natsHeaders(message.headers ?? {});
  if (message.messageId !== undefined) made.set('Nats-Msg-Id', message.messageId);
  if (message.expectLastSubjectSequence !== undefined) made.set('Nats-Expected-Last-Subject-Sequence', String(message.expectLastSubjectSequence));
  if (message.ttlMs !== undefined) made.set('Nats-TTL', `${String(Math.max(1, Math.ceil(message.ttlMs / 1_000)))}s`);
  return made;
}

function directMessage(answer: Msg, subject: string): DeliveredMessage | undefined {
  if (answer.headers?.code === 404) return undefined;
  if (answer.headers !== undefined && answer.headers.code >= 400) throw new ApiError({ code: answer.headers.code, description: answer.headers.description }, subject);
  const headers = headersOf(answer.headers);
  const timeMs = Date.parse(headers['Nats-Time-Stamp'] ?? '');
  return { subject: headers['Nats-Subject'] ?? subject, payload: answer.data, headers, sequence: Number(headers['Nats-Sequence'] ?? 0), timeMs: Number.isNaN(timeMs) ? 0 : timeMs };
}

async function requested(connection: NatsConnection, subject: string, payload: Uint8Array, options: { timeoutMs: number; headers?: Headers }): Promise<Msg> {
  try {
    return await connection.request(subject, payload, { timeout: options.timeoutMs, ...(options.headers === undefined ? {} : { headers: natsHeaders(options.headers) }) });
  } catch (error) {
    throw busErrorOf(error, subject);
  }
}
