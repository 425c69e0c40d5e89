import {
  type Bus,
  BusError,
  type DeliveredMessage,
  type FollowEvent,
  type FollowFrom,
  type Headers,
  neverStopping,
  type OutgoingMessage,
  type PublishAck,
  type QueueLag,
  type StopSignal,
  type StreamExtent,
  type StreamSpec,
  type WorkerSpec,
  type WorkItem,
} from '@dovetail/core-ports';

import type { MemoryBusServer } from './server.js';
import { withScope } from './signal.js';
import type { Attachment, MemoryStream } from './stream.js';
import { lagOf, type QueueName, take, workItem } from './work.js';

const payloadBytesMax = 1024 * 1024;

/**
 * One service's connection to the in-process bus. It creates the streams that it ensured again when
 * they are gone.
 */
export function memoryBus(server: MemoryBusServer): Bus {
  return new MemoryBus(server);
}

/** As in NATS' adapter: the stream was made again since the sequence was noted. */
const isBeyond = (from: FollowFrom, stream: MemoryStream): boolean =>
  typeof from === 'object' &&
  'sequence' in from &&
  from.sequence > stream.position().lastSequence + 1;

class MemoryBus implements Bus {
  readonly #server: MemoryBusServer;
  readonly #specs = new Map<string, StreamSpec>();

  constructor(server: MemoryBusServer) {
    this.#server = server;
  }

  connected(): boolean {
    return this.#server.up;
  }

  async ensureStreams(specs: readonly StreamSpec[]): Promise<void> {
    for (const spec of specs) this.#specs.set(spec.name, spec);
    await this.#reach();
    for (const spec of specs) this.#server.ensure(spec);
  }

  async publish(message: OutgoingMessage): Promise<PublishAck> {
    if (message.payload.length > payloadBytesMax)
      throw new BusError(
        'too-large',
        `${message.subject}: ${String(message.payload.length)} bytes are more than ${String(payloadBytesMax)}`,
      );
    await this.#reach();
    const stream =
      [...this.#server.streams.values()].find((each) => each.covers(message.subject)) ??
      this.#remake(message.subject);
    const ack = stream.publish(message, this.#server.clock.nowMs());
    if (this.#server.losesAnswer())
      throw new BusError('timeout', `${message.subject}: the answer was lost`);
    return ack;
  }

  async *follow(
    options: { stream: string; filters: readonly string[]; from?: FollowFrom },
    stop: StopSignal,
  ): AsyncGenerator<FollowEvent> {
    let from = options.from ?? 'last-per-subject';
    while (!stop.aborted) {
      const stream = await this.#awaited(options.stream, stop);
      if (stream === undefined) return;
      if (isBeyond(from, stream)) {
        from = 'first';
        yield { kind: 'reset', reason: `stream ${options.stream} was recreated` };
        continue;
      }
      const attachment = stream.attach(options.filters, from, this.#server.clock.nowMs());
      try {
        yield* this.#drained(options.stream, attachment, stop);
      } finally {
        stream.detach(attachment);
      }
      // All messages of a lost stream's successor were published after the loss.
      from = from === 'last-per-subject' ? from : 'first';
    }
  }

  async *#drained(
    stream: string,
    attachment: Attachment,
    stop: StopSignal,
  ): AsyncGenerator<FollowEvent> {
    const server = this.#server;
    while (!stop.aborted) {
      if (!server.up) {
        await server.changed.wait(stop);
        continue;
      }
      const [next] = attachment.events;
      const dueMs = next?.kind === 'message' ? next.message.timeMs + server.lagMs(stream) : 0;
      if (dueMs > server.clock.nowMs()) {
        await this.#changedOr(dueMs, stop);
        continue;
      }
      const event = attachment.events.shift();
      if (event === undefined) await attachment.woken.wait(stop);
      else yield event;
      if (event?.kind === 'reset') return;
    }
  }

  /** Waits until this time, or until the server changes. */
  #changedOr(untilMs: number, stop: StopSignal): Promise<void> {
    const { clock, changed } = this.#server;
    return withScope(stop, async (scope) => {
      await Promise.race([changed.wait(scope), clock.sleep(untilMs - clock.nowMs(), scope)]);
    });
  }

  async *work(spec: WorkerSpec, stop: StopSignal): AsyncGenerator<WorkItem> {
    const { clock } = this.#server;
    let reachedMs: number | undefined;
    while (!stop.aborted) {
      const stream = await this.#awaited(spec.stream, stop);
      if (stream === undefined) return;
      const { newestFirst } = this.#server;
      const lagMs = this.#server.lagMs(spec.stream);
      const taken = take(stream, spec, { nowMs: clock.nowMs(), lagMs, newestFirst, reachedMs });
      if ('message' in taken) {
        reachedMs = taken.message.timeMs;
        yield workItem({ stream, spec, clock, reachable: () => this.#server.up }, taken);
        continue;
      }
      await withScope(stop, async (scope) => {
        const waits = [stream.changed.wait(scope), this.#server.changed.wait(scope)];
        if (taken.dueMs !== Infinity) waits.push(clock.sleep(taken.dueMs - clock.nowMs(), scope));
        await Promise.race(waits);
      });
    }
  }

  async lastSequences(stream: string, filter: string): Promise<ReadonlyMap<string, number>> {
    return (await this.#stream(stream)).lastSequences(filter, this.#server.clock.nowMs());
  }

  async position(stream: string): Promise<StreamExtent> {
    return (await this.#stream(stream)).position();
  }

  async bytesOf(stream: string): Promise<number> {
    return (await this.#stream(stream)).bytes;
  }

  async lagOf({ stream, ...queue }: QueueName): Promise<QueueLag | undefined> {
    return lagOf(await this.#stream(stream), queue, this.#server.clock.nowMs());
  }

  async lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined> {
    return (await this.#stream(stream)).last(subject, this.#server.clock.nowMs());
  }

  async request(
    subject: string,
    payload: Uint8Array,
    options: { timeoutMs: number; headers?: Headers },
  ): Promise<DeliveredMessage> {
    await this.#reach();
    const { clock } = this.#server;
    const responder = this.#server.nextResponder(subject);
    if (responder === undefined) throw new BusError('no-responders', `nobody serves ${subject}`);
    const request: DeliveredMessage = {
      subject,
      payload: Uint8Array.from(payload),
      headers: { ...options.headers },
      sequence: 0,
      timeMs: clock.nowMs(),
    };
    return withScope(neverStopping, async (scope) => {
      const late = clock.sleep(options.timeoutMs, scope).then(() => undefined);
      const answer = await Promise.race([
        responder.answer(request).catch((error: unknown) => error as Error),
        late,
      ]);
      if (answer instanceof Error)
        throw new BusError('unavailable', `${subject}: ${answer.message}`, { cause: answer });
      if (answer === undefined)
        throw new BusError(
          'timeout',
          `${subject}: no answer within ${String(options.timeoutMs)} ms`,
        );
      return { subject, payload: answer, headers: {}, sequence: 0, timeMs: clock.nowMs() };
    });
  }

  async serve(
    options: { subject: string; queue: string },
    handler: (request: DeliveredMessage) => Promise<Uint8Array>,
    stop: StopSignal,
  ): Promise<void> {
    if (stop.aborted) return;
    const responder = { queue: options.queue, answer: handler };
    const { responders } = this.#server;
    responders.set(options.subject, [...(responders.get(options.subject) ?? []), responder]);
    await new Promise<void>((resolve) => stop.addEventListener('abort', resolve, { once: true }));
    responders.set(
      options.subject,
      (responders.get(options.subject) ?? []).filter((other) => other !== responder),
    );
  }

  /** Waits one turn, as over a network, and throws `unavailable` if the server is down. */
  async #reach(): Promise<void> {
    await Promise.resolve();
    if (!this.#server.up) throw new BusError('unavailable', 'the bus is down');
  }

  async #stream(name: string): Promise<MemoryStream> {
    await this.#reach();
    const spec = this.#specs.get(name);
    const stream =
      this.#server.streams.get(name) ??
      (spec === undefined ? undefined : this.#server.ensure(spec));
    if (stream === undefined) throw new BusError('no-stream', `there is no stream ${name}`);
    return stream;
  }

  #remake(subject: string): MemoryStream {
    for (const spec of this.#specs.values()) {
      const stream = this.#server.streams.has(spec.name) ? undefined : this.#server.ensure(spec);
      if (stream?.covers(subject) === true) return stream;
    }
    throw new BusError('no-stream', `no stream holds ${subject}`);
  }

  /** The stream, once it and the server exist; undefined when `stop` came first. */
  async #awaited(name: string, stop: StopSignal): Promise<MemoryStream | undefined> {
    while (!stop.aborted) {
      if (this.#server.up) {
        const spec = this.#specs.get(name);
        const stream =
          this.#server.streams.get(name) ??
          (spec === undefined ? undefined : this.#server.ensure(spec));
        if (stream !== undefined) return stream;
      }
      await this.#server.changed.wait(stop);
    }
    return undefined;
  }
}
