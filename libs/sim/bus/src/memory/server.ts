import type { Clock, DeliveredMessage, StreamSpec } from '@dovetail/core-ports';

import { Wakeup } from './signal.js';
import { MemoryStream } from './stream.js';

/** A service that answers requests. Of the responders of one queue, one answers each request. */
export type Responder = {
  readonly queue: string;
  readonly answer: (request: DeliveredMessage) => Promise<Uint8Array>;
};

/**
 * The server side of the in-process bus: streams in memory, and the faults that a real server can
 * have. Several buses (one per service) share one server.
 */
export class MemoryBusServer {
  readonly clock: Clock;
  readonly streams = new Map<string, MemoryStream>();
  readonly responders = new Map<string, Responder[]>();
  /** Woken when streams come and go and when the server does. */
  readonly changed = new Wakeup();
  /** Work streams give their newest message first. */
  newestFirst = false;
  readonly #lagsMs = new Map<string, number>();
  #answersToLose = 0;
  #up = true;
  #made = 0;
  #turn = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get up(): boolean {
    return this.#up;
  }

  /** Creates the stream unless it exists. Its limits become those of the spec. */
  ensure(spec: StreamSpec): MemoryStream {
    const known = this.streams.get(spec.name);
    if (known !== undefined) {
      known.spec = spec;
      return known;
    }
    this.#made += 1;
    const stream = new MemoryStream(spec, `${String(this.clock.nowMs())}-${String(this.#made)}`);
    this.streams.set(spec.name, stream);
    this.changed.wake();
    return stream;
  }

  /** Responders of a subject take turns. */
  nextResponder(subject: string): Responder | undefined {
    const all = this.responders.get(subject) ?? [];
    this.#turn += 1;
    return all[this.#turn % Math.max(1, all.length)];
  }

  /** How long after they were stored this stream's messages are delivered, in milliseconds. */
  lagMs(stream: string): number {
    return this.#lagsMs.get(stream) ?? 0;
  }

  /** Whether the answer to a publish that was stored is lost now. */
  losesAnswer(): boolean {
    if (this.#answersToLose === 0) return false;
    this.#answersToLose -= 1;
    return true;
  }

  // Faults, for tests and simulation.

  /**
   * Delivers the messages of a stream this long after they were stored; 0 ends that. Other streams
   * overtake it.
   */
  delay(stream: string, lagMs: number): void {
    if (lagMs > 0) this.#lagsMs.set(stream, lagMs);
    else this.#lagsMs.delete(stream);
    this.#wakeAll();
  }

  /** Gives work that is with a worker, and not acked, to a worker again. */
  redeliver(): void {
    for (const stream of this.streams.values())
      for (const pending of stream.consumers.values())
        for (const entry of pending.values())
          if (entry.dueMs !== Infinity) entry.dueMs = this.clock.nowMs();
    this.#wakeAll();
  }

  /** Stores the next messages that are published, and loses the answers. 0 ends that. */
  loseAnswers(times: number): void {
    this.#answersToLose = times;
  }

  /** Makes the server unreachable until `start`. */
  stop(): void {
    this.#up = false;
    this.changed.wake();
  }

  /** Makes the server reachable again, with its streams or (`wiped`) without them. */
  start(options: { readonly wiped?: boolean } = {}): void {
    if (options.wiped === true)
      for (const name of [...this.streams.keys()]) this.deleteStream(name);
    this.#up = true;
    this.changed.wake();
  }

  deleteStream(name: string): void {
    const stream = this.streams.get(name);
    this.streams.delete(name);
    stream?.drop();
    this.changed.wake();
  }

  purgeStream(name: string): void {
    this.streams.get(name)?.purge();
  }

  deleteConsumer(stream: string, name: string): void {
    this.streams.get(stream)?.consumers.delete(name);
  }

  #wakeAll(): void {
    this.changed.wake();
    for (const stream of this.streams.values()) stream.changed.wake();
  }
}
