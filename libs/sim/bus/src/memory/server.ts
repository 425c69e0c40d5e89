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

  // Faults, for tests and simulation.

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
}
