import {
  batchesLag,
  type Decision,
  followDecisions,
  followState,
  type MalformedMessage,
  type Reader,
} from '@dovetail/contracts';
import {
  type BusConnection,
  BusError,
  type Clock,
  type Log,
  type Metrics,
  type Service,
  type StopSignal,
} from '@dovetail/core-ports';
import { reportMalformed } from '@dovetail/service-kit';

import type { ConsoleConfig } from './config.js';
import { FrameMaker, type FrameSources } from './frame-maker.js';
import { boardKinds, ClusterBoard } from './mirror/cluster-board.js';
import { DecisionBook } from './mirror/decision-book.js';
import type { SolversLag } from './mirror/services.js';
import type { BusLink, Frame } from './view/frames.js';

/** The parts that a console works with. */
export type ConsoleDeps = {
  readonly reader: Reader & { readonly bus: BusConnection };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** Takes frames. It throws nothing. */
type FrameListener = (frame: Frame) => void;

/** A console: a service that only reads, and tells pages what it has read. */
export type Console = Service & {
  /** Sends the whole view now and changes from then on. Returns the end of it. */
  subscribe(listener: FrameListener): () => void;
  /** A decision, whole. Undefined: it is not kept. */
  decision(id: string): Decision | undefined;
};

/**
 * A console of one cluster. It follows the state feed and the decisions, and sends each page the
 * whole view once and then what changes. It publishes nothing and asks nobody.
 */
export function createConsole(deps: ConsoleDeps, config: ConsoleConfig): Console {
  const desk = new ConsoleDesk(deps, config);
  return {
    async run(stop) {
      await Promise.all([
        desk.followState(stop),
        desk.followDecisions(stop),
        desk.measure(stop),
        desk.tell(stop),
      ]);
    },
    // While the bus is away the page still has something to say, so it must stay reachable.
    ready: () => ({ mirror: desk.hasRead }),
    debugState: () => desk.debugState(),
    subscribe: (listener) => desk.subscribe(listener),
    decision: (id) => desk.decision(id),
  };
}

class ConsoleDesk {
  readonly #deps: ConsoleDeps;
  readonly #config: ConsoleConfig;
  readonly #frames: FrameMaker;
  readonly #listeners = new Set<FrameListener>();
  #board = new ClusterBoard();
  /** The board that is being read, while pages still see the one before. */
  #reading: ClusterBoard | undefined;
  #book = new DecisionBook();
  #hasRead = false;
  #isChanged = true;
  #toldMs = 0;
  #bus: BusLink;
  #lag: SolversLag = 'unknown';

  constructor(deps: ConsoleDeps, config: ConsoleConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#frames = new FrameMaker(deps.reader.cluster, config);
    this.#bus = { state: 'reading', sinceMs: deps.clock.nowMs() };
    this.#reading = this.#board;
  }

  /** The state of the cluster has been read to its end once. */
  get hasRead(): boolean {
    return this.#hasRead;
  }

  async followState(stop: StopSignal): Promise<void> {
    for await (const event of followState(this.#deps.reader, stop, { kinds: boardKinds })) {
      this.#isChanged = true;
      switch (event.kind) {
        case 'record':
          (this.#reading ?? this.#board).take(event.record, event.timeMs);
          break;
        case 'reset':
          this.#reading = new ClusterBoard();
          break;
        case 'caught-up':
          this.#board = this.#reading ?? this.#board;
          this.#reading = undefined;
          this.#hasRead = true;
          break;
        case 'malformed':
          this.#malformed(event);
      }
    }
  }

  async followDecisions(stop: StopSignal): Promise<void> {
    for await (const event of followDecisions(this.#deps.reader, stop)) {
      this.#isChanged = true;
      if (event.kind === 'decision') this.#book.take(event.decision);
      if (event.kind === 'malformed') this.#malformed(event);
    }
  }

  /** Looks how far solvers are behind while there is a page to tell, until `stop`. */
  async measure(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      if (this.#listeners.size > 0) await this.#measureOnce();
      await this.#deps.clock.sleep(this.#config.measureMs, stop);
    }
  }

  async #measureOnce(): Promise<void> {
    const lag = await batchesLag(this.#deps.reader).catch((error: unknown) => {
      // A bus that is away, or a user of NATS whose rights are those of an older release.
      if (error instanceof BusError) return 'unknown' as const;
      throw error;
    });
    if (JSON.stringify(lag) !== JSON.stringify(this.#lag)) this.#isChanged = true;
    this.#lag = lag;
  }

  /** Tells all pages what has changed, until `stop`. */
  async tell(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      this.#look();
      const isDue = this.#deps.clock.nowMs() - this.#toldMs >= this.#config.heartbeatMs;
      if (this.#listeners.size > 0 && (this.#isChanged || isDue)) this.#tellChange();
      await this.#deps.clock.sleep(this.#config.frameMs, stop);
    }
  }

  subscribe(listener: FrameListener): () => void {
    this.#look();
    // The others hear what the whole view has beyond their last frame.
    this.#tellChange();
    listener(this.#frames.whole(this.#sources()));
    this.#listeners.add(listener);
    this.#countPages();
    return () => {
      this.#listeners.delete(listener);
      this.#countPages();
    };
  }

  decision(id: string): Decision | undefined {
    return this.#book.whole(id);
  }

  debugState(): Readonly<Record<string, unknown>> {
    const { nodes, waiting } = this.#frames.whole(this.#sources());
    return {
      bus: this.#bus,
      pages: this.#listeners.size,
      nodes: nodes?.set.length ?? 0,
      waiting: waiting?.total ?? 0,
    };
  }

  #countPages(): void {
    this.#deps.metrics.set('dovetail_console_pages', this.#listeners.size);
  }

  #tellChange(): void {
    this.#isChanged = false;
    this.#toldMs = this.#deps.clock.nowMs();
    const frame = this.#frames.change(this.#sources());
    for (const listener of this.#listeners) listener(frame);
  }

  #sources(): FrameSources {
    const nowMs = this.#deps.clock.nowMs();
    return { board: this.#board, book: this.#book, bus: this.#bus, lag: this.#lag, nowMs };
  }

  /** Looks at the connection. Its changes are told as those of the cluster are. */
  #look(): void {
    const isLive = this.#reading === undefined;
    const state = !this.#deps.reader.bus.connected() ? 'away' : isLive ? 'live' : 'reading';
    if (state === this.#bus.state) return;
    this.#bus = { state, sinceMs: this.#deps.clock.nowMs() };
    this.#isChanged = true;
  }

  #malformed(event: MalformedMessage): void {
    reportMalformed(this.#deps, event);
  }
}
