import { setImmediate as nextTurn } from 'node:timers/promises';

import {
  BusError,
  type FollowEvent,
  type FollowFrom,
  type Log,
  type StopSignal,
} from '@dovetail/core-ports';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';

import { api, busErrorOf, nanos, streamInfo } from './api.js';
import { FollowMemory } from './follow-memory.js';
import type { NatsLink } from './link.js';
import { delivered, type Delivery, deliveryOf } from './message.js';
import { ProbePace } from './probe-pace.js';
import { Inbox, pause } from './signal.js';

/** Which messages to follow, and from where. */
export type FollowPlan = {
  readonly stream: string;
  readonly filters: readonly string[];
  readonly from: FollowFrom;
  readonly headersOnly?: boolean;
};
/** The connection, the log, and how to make a lost stream again. */
export type FollowDeps = {
  readonly link: NatsLink;
  readonly log: Log;
  readonly remake: (stream: string) => Promise<void>;
};

/**
 * How often the server shows that it lives. It trades messages on an idle stream for how soon a
 * lost server is noticed.
 */
const heartbeatMs = 1_000;
/**
 * A follower that heard nothing for this long resumes: three heartbeats, and half of one for
 * delays.
 */
const silenceMs = 3_500;
/**
 * Tombstones live for 10 minutes. A follower that was away for half of that starts over, so it
 * misses none. All times here are of the monotonic clock: after a step of the wall clock every
 * follower of every service would read everything again at once, or miss the silence of the server.
 */
const resumeWithinMs = 5 * 60_000;

/** Pause after a stream was refused. Only a person mends that, so the log need not fill with it. */
const refusedMs = 5_000;

/**
 * Messages that a follower takes in one turn of the event loop. Node.js reads up to 2 MB of a
 * socket in one turn, which is thousands of messages. More would hold up Lease renewals and probes,
 * fewer would cost a turn each.
 */
const messagesPerTurn = 50;

/** How a session ended: it resumes where it was, or everything is read again. */
type SessionEnd = { readonly resume: true } | { readonly resume: false; readonly reason: string };
const resume: SessionEnd = { resume: true };

/**
 * Follows a stream through an ordered push consumer. After gaps, lost consumers and reconnects it
 * resumes by sequence. A stream that was deleted, purged or recreated ends in `reset`, and is read
 * again.
 */
export async function* follow(
  deps: FollowDeps,
  plan: FollowPlan,
  stop: StopSignal,
): AsyncGenerator<FollowEvent> {
  let from = plan.from;
  let memory: FollowMemory | undefined;
  while (!stop.aborted) {
    const connection = await deps.link.connectionUnless(stop);
    if (connection === undefined) return;
    const begun = await begin(deps, connection, { ...plan, from, memory }, stop);
    if (begun === undefined) continue;
    let end: SessionEnd;
    if ('reason' in begun) end = { resume: false, reason: begun.reason };
    else {
      memory = begun.memory;
      end = yield* new Session(deps, connection, { ...plan, from }, memory).run(stop);
    }
    if (end.resume) continue;
    memory = undefined;
    // A place in the lost stream is none in its successor, whose messages were published after the
    // loss.
    if (typeof from === 'object') from = 'first';
    from = from === 'now' ? 'first' : from;
    yield { kind: 'reset', reason: end.reason };
  }
}

/** Where a follower begins or resumes. */
type Beginning = Pick<FollowPlan, 'stream' | 'from'> & {
  readonly memory: FollowMemory | undefined;
};

/** Reads the stream's state and decides: resume, start, `reset`, or (undefined) try again. */
async function begin(
  deps: FollowDeps,
  connection: NatsConnection,
  { stream, from, memory }: Beginning,
  stop: StopSignal,
): Promise<{ memory: FollowMemory } | { reason: string } | undefined> {
  try {
    const info = await streamInfo(connection, stream, deps.link.timeoutMs);
    if (info === undefined) {
      if (memory !== undefined) return { reason: `stream ${stream} is gone` };
      await deps.remake(stream);
      await pause(250, stop);
      return undefined;
    }
    if (memory !== undefined) {
      const lost =
        info.created !== memory.incarnation || info.state.last_seq < memory.deliveredSequence;
      if (lost) return { reason: `stream ${stream} was recreated` };
      if (performance.now() - memory.aliveMs > resumeWithinMs)
        return {
          reason: `out of touch with stream ${stream} for over ${String(resumeWithinMs / 60_000)} minutes`,
        };
      return { memory };
    }
    if (isBeyond(from, info.state.last_seq))
      return { reason: `stream ${stream} was recreated: it has not come to that sequence` };
    return {
      memory: new FollowMemory({
        incarnation: info.created,
        lastSequence: info.state.last_seq,
        nowMs: performance.now(),
      }),
    };
  } catch (error) {
    await pause(toldPause(deps, stream, error), stop);
    return undefined;
  }
}

/** Tells why a follower cannot begin. Returns the pause before the next try. */
function toldPause({ log }: FollowDeps, stream: string, error: unknown): number {
  const { code, message } = busErrorOf(error, stream);
  const isRefused = code === 'stream-refused';
  if (isRefused) log.warn('nats-stream-refused', message, { stream });
  else log.debug('nats-follow-retry', message, { stream });
  return isRefused ? refusedMs : 250;
}

/** Whether a follower would begin at a sequence that a stream with this end cannot have had. */
const isBeyond = (from: FollowFrom, lastSequence: number): boolean =>
  typeof from === 'object' && 'sequence' in from && from.sequence > lastSequence + 1;

/** The life of one consumer. */
class Session {
  readonly #deps: FollowDeps;
  readonly #connection: NatsConnection;
  readonly #plan: FollowPlan;
  readonly #memory: FollowMemory;
  readonly #inbox = new Inbox<Msg | SessionEnd>();
  readonly #pace = new ProbePace(performance.now());
  #consumerSequence = 0;

  constructor(
    deps: FollowDeps,
    connection: NatsConnection,
    plan: FollowPlan,
    memory: FollowMemory,
  ) {
    this.#deps = deps;
    this.#connection = connection;
    this.#plan = plan;
    this.#memory = memory;
  }

  async *run(stop: StopSignal): AsyncGenerator<FollowEvent, SessionEnd> {
    const subject = this.#deps.link.newInbox();
    const subscription = this.#connection.subscribe(subject, {
      callback: (_error, message) => this.#inbox.push(message),
    });
    const unwatch = this.#deps.link.onRestored(() => this.#inbox.push(resume));
    const prober = setInterval(() => void this.#probeIfDue(), heartbeatMs);
    try {
      const pending = await this.#create(subject);
      if (pending === 0) yield* this.#caughtUp();
      return yield* this.#deliver(stop);
    } catch (error) {
      this.#deps.log.debug('nats-follow-retry', busErrorOf(error, this.#plan.stream).message, {
        stream: this.#plan.stream,
      });
      await pause(250, stop);
      return resume;
    } finally {
      clearInterval(prober);
      unwatch();
      if (!this.#connection.isClosed()) subscription.unsubscribe();
    }
  }

  async *#deliver(stop: StopSignal): AsyncGenerator<FollowEvent, SessionEnd> {
    while (!stop.aborted) {
      const item = await this.#inbox.next(heartbeatMs, stop);
      if (item === undefined) {
        if (performance.now() - this.#memory.aliveMs > silenceMs) return resume;
        continue;
      }
      if ('resume' in item) return item;
      this.#memory.aliveMs = performance.now();
      const delivery = deliveryOf(item.reply);
      if (delivery === undefined) {
        if (!this.#control(item)) return resume;
        yield* this.#raised();
      } else {
        if (delivery.consumerSequence !== this.#consumerSequence + 1) return resume;
        yield* this.#message(item, delivery);
        if (delivery.consumerSequence % messagesPerTurn === 0) await nextTurn();
      }
      if (this.#memory.isPurged())
        return { resume: false, reason: `stream ${this.#plan.stream} was purged` };
    }
    return resume;
  }

  *#message(message: Msg, delivery: Delivery): Iterable<FollowEvent> {
    this.#consumerSequence = delivery.consumerSequence;
    const live =
      this.#plan.from === 'last-per-subject' && message.headers?.has('Nats-TTL') !== true;
    this.#memory.delivered(message.subject, delivery.streamSequence, live);
    yield { kind: 'message', message: delivered(message, delivery) };
    if (delivery.pending === 0) yield* this.#caughtUp();
  }

  *#caughtUp(): Iterable<FollowEvent> {
    if (this.#memory.caughtUp) return;
    this.#memory.caughtUp = true;
    yield { kind: 'caught-up', position: this.#memory.position };
  }

  /**
   * Reports the end as reached when nothing is on its way and no message is at the end any more.
   */
  *#raised(): Iterable<FollowEvent> {
    if (this.#memory.raise()) yield { kind: 'caught-up', position: this.#memory.position };
  }

  /** Heartbeats and flow control. False: messages were missed. */
  #control(message: Msg): boolean {
    const { headers } = message;
    if (headers?.code !== 100) return headers?.code === undefined || headers.code < 400;
    // Flow control wants an answer once everything before it has been taken, which is now.
    if (message.reply !== undefined && message.reply !== '') message.respond();
    const stalled = headers.get('Nats-Consumer-Stalled');
    if (stalled !== '') this.#connection.publish(stalled);
    const last = headers.get('Nats-Last-Consumer');
    if (last !== '' && Number(last) !== this.#consumerSequence) return false;
    // A request for flow control, or a heartbeat of a consumer that waits for its answer, says
    // nothing of messages that are still to come.
    if (isIdleHeartbeat(headers)) this.#memory.idle();
    return true;
  }

  async #probeIfDue(): Promise<void> {
    if (!this.#memory.isProbing && this.#pace.isDue(performance.now())) await this.#probe();
  }

  /** Asks for the stream's present beginning and end, and whether it is still the same stream. */
  async #probe(): Promise<void> {
    try {
      const info = await streamInfo(this.#connection, this.#plan.stream, this.#deps.link.timeoutMs);
      if (info === undefined)
        this.#inbox.push({ resume: false, reason: `stream ${this.#plan.stream} is gone` });
      else if (info.created !== this.#memory.incarnation)
        this.#inbox.push({ resume: false, reason: `stream ${this.#plan.stream} was recreated` });
      else
        this.#memory.told({
          firstSequence: info.state.first_seq,
          lastSequence: info.state.last_seq,
        });
    } catch (error) {
      // The heartbeats tell when the server is away; the next probe asks again. A stream that was
      // given rules that move messages is left.
      if (error instanceof BusError && error.code === 'stream-refused') this.#inbox.push(resume);
    }
  }

  /** Makes the consumer. Returns the number of messages that it has to deliver. */
  async #create(subject: string): Promise<number> {
    const { stream, filters } = this.#plan;
    const name = subject.slice(subject.lastIndexOf('.') + 1);
    const config = {
      name,
      deliver_subject: subject,
      ack_policy: 'none',
      max_deliver: 1,
      mem_storage: true,
      num_replicas: 1,
      flow_control: true,
      idle_heartbeat: nanos(heartbeatMs),
      inactive_threshold: nanos(30_000),
      filter_subjects: [...filters],
      ...(this.#plan.headersOnly === true ? { headers_only: true } : {}),
      ...this.#startingPoint(),
    };
    const made = await api<{ num_pending: number }>(
      this.#connection,
      `CONSUMER.CREATE.${stream}.${name}`,
      { stream_name: stream, config },
      this.#deps.link.timeoutMs,
    );
    this.#memory.aliveMs = performance.now();
    return made.num_pending;
  }

  #startingPoint(): Readonly<Record<string, unknown>> {
    const { from } = this.#plan;
    const sequence = this.#memory.resumeFrom(from);
    if (sequence !== undefined)
      return { deliver_policy: 'by_start_sequence', opt_start_seq: sequence };
    if (typeof from === 'object' && 'timeMs' in from)
      return {
        deliver_policy: 'by_start_time',
        opt_start_time: new Date(from.timeMs).toISOString(),
      };
    return { deliver_policy: from === 'first' ? 'all' : 'last_per_subject' };
  }
}

/** Whether the server says that the consumer has nothing to deliver, and holds nothing back. */
const isIdleHeartbeat = (headers: Pick<MsgHdrs, 'code' | 'description' | 'get'>): boolean =>
  headers.code === 100 &&
  headers.description === 'Idle Heartbeat' &&
  headers.get('Nats-Consumer-Stalled') === '';
