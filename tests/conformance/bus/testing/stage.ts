import {
  type Bus,
  type FollowEvent,
  type FollowFrom,
  type StreamSpec,
  type WorkerSpec,
  type WorkItem,
} from '@dovetail/core-ports';

/** A bus server under test, and its possible faults. */
export type BusWorld = {
  connect(): Bus;
  /** The server dies at once (kill -9) and stays away. */
  crash(): Promise<void>;
  restart(options: { wiped: boolean }): Promise<void>;
  purge(stream: string): Promise<void>;
  deleteStream(stream: string): Promise<void>;
  deleteConsumer(stream: string, consumer: string): Promise<void>;
  close(): Promise<void>;
};

/** One member of the queue's workers. */
export type Member = { next(): Promise<WorkItem>; close(): Promise<void> };

/**
 * The tools of the test groups: the world, a bus on it, and resources that are released after each
 * test.
 */
export type Stage = {
  readonly world: BusWorld;
  readonly bus: Bus;
  put(
    subject: string,
    text: string,
    rest?: Partial<Parameters<Bus['publish']>[0]>,
  ): ReturnType<Bus['publish']>;
  follow(stream: string, filters: readonly string[], from?: FollowFrom): Watcher;
  /** Works on the queue unless `spec` names another consumer. */
  member(on?: Bus, spec?: WorkerSpec): Member;
};

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);
export const mebibyte = 1024 * 1024;
export const state: StreamSpec = {
  name: 'T_STATE',
  subjects: ['t.state.>'],
  keep: 'last',
  maxBytes: 16 * mebibyte,
  duplicateWindowMs: 60_000,
};
export const queue: StreamSpec = {
  name: 'T_QUEUE',
  subjects: ['t.queue.>'],
  keep: 'work',
  maxAgeMs: 60_000,
  maxBytes: 16 * mebibyte,
  duplicateWindowMs: 60_000,
};
export const log: StreamSpec = {
  name: 'T_LOG',
  subjects: ['t.log.>'],
  keep: 'log',
  maxAgeMs: 60_000,
  maxBytes: 16 * mebibyte,
  duplicateWindowMs: 60_000,
};
export const worker: WorkerSpec = {
  stream: 'T_QUEUE',
  name: 'workers',
  ackWaitMs: 1_000,
  inFlightMax: 8,
  filter: 't.queue.>',
};

/** Retries calls that a server refuses while it is coming back. */
export async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries > 2_400) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Reads one follower in the background and waits for the expected events. */
export class Watcher {
  readonly events: FollowEvent[] = [];
  readonly #seen: string[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #wake = (): void => undefined;
  constructor(bus: Bus, stream: string, filters: readonly string[], from?: FollowFrom) {
    this.#ended = this.#read(
      bus.follow({ stream, filters, ...(from === undefined ? {} : { from }) }, this.#stop.signal),
    );
  }
  async #read(events: AsyncIterable<FollowEvent>): Promise<void> {
    for await (const event of events) {
      this.events.push(event);
      this.#seen.push(
        event.kind === 'message'
          ? `${event.message.subject}=${textOf(event.message.payload)}`
          : event.kind,
      );
      this.#wake();
    }
  }
  async until(
    what: string,
    done: (seen: readonly string[]) => boolean,
  ): Promise<readonly string[]> {
    const untilMs = Date.now() + 15_000;
    while (!done(this.seen())) {
      if (Date.now() > untilMs)
        throw new Error(
          `${what}: saw ${String(this.#seen.length)} events: ${JSON.stringify(this.#seen.slice(-20)).slice(0, 1_000)}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return [...this.#seen];
  }
  /** `subject=payload`, `caught-up`, `reset`. */
  seen(): readonly string[] {
    return this.#seen;
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}
