import {
  BusError,
  type Log,
  type StopSignal,
  type WorkerSpec,
  type WorkItem,
} from '@dovetail/core-ports';
import type { Msg, NatsConnection } from '@nats-io/transport-node';

import { api, ApiError, busErrorOf, faults, nanos, streamInfo } from './api.js';
import type { NatsLink } from './link.js';
import { delivered, type Delivery, deliveryOf } from './message.js';
import { Inbox, pause } from './signal.js';

/** The connection, the log, and how to make a lost queue again. */
export type WorkDeps = {
  readonly link: NatsLink;
  readonly log: Log;
  readonly remake: (stream: string) => Promise<void>;
};

/**
 * A pull is renewed after this time at the latest. A queue that was deleted silently is noticed
 * then.
 */
const pullMs = 2_000;

/**
 * Pulls one message at a time, so that a busy member never holds work that an idle one could do.
 */
export async function* work(
  deps: WorkDeps,
  spec: WorkerSpec,
  stop: StopSignal,
): AsyncGenerator<WorkItem> {
  const place: Place = {};
  while (!stop.aborted) {
    const connection = await deps.link.connectionUnless(stop);
    if (connection === undefined) return;
    if (!(await ensureConsumer(deps, connection, { spec, place }))) {
      await pause(250, stop);
      continue;
    }
    for await (const item of pulling(deps, connection, spec, stop)) {
      place.reachedMs = item.message.timeMs;
      yield item;
    }
  }
}

/** When the last message that was delivered had been stored. */
type Place = { reachedMs?: number };

/**
 * Where a consumer begins that is made now. One of a log that someone deleted goes on where it was:
 * the stream still holds what was done, and may hold what was not. By time, because the sequences
 * of a stream that is made again begin anew.
 */
function startOf(spec: WorkerSpec, { reachedMs }: Place): Readonly<Record<string, unknown>> {
  if (spec.from !== undefined && reachedMs !== undefined)
    return { deliver_policy: 'by_start_time', opt_start_time: new Date(reachedMs).toISOString() };
  return { deliver_policy: spec.from === 'now' ? 'new' : 'all' };
}

async function ensureConsumer(
  deps: WorkDeps,
  connection: NatsConnection,
  { spec, place }: { readonly spec: WorkerSpec; readonly place: Place },
): Promise<boolean> {
  const config = {
    durable_name: spec.name,
    name: spec.name,
    ack_policy: 'explicit',
    ack_wait: nanos(spec.ackWaitMs),
    max_ack_pending: spec.inFlightMax,
    max_deliver: -1,
    ...startOf(spec, place),
    max_waiting: 512,
    ...(spec.filter === undefined ? {} : { filter_subject: spec.filter }),
  };
  const suffix = spec.filter === undefined ? '' : `.${spec.filter}`;
  try {
    // A stream that moves messages is refused.
    await streamInfo(connection, spec.stream, deps.link.timeoutMs);
    await api(
      connection,
      `CONSUMER.CREATE.${spec.stream}.${spec.name}${suffix}`,
      { stream_name: spec.stream, config },
      deps.link.timeoutMs,
    );
    return true;
  } catch (error) {
    if (isThere(error)) return true;
    const missing = error instanceof ApiError && error.code === faults.streamNotFound;
    if (missing) await deps.remake(spec.stream).catch(() => undefined);
    else
      deps.log.warn('nats-consumer', busErrorOf(error, `consumer ${spec.name}`).message, {
        stream: spec.stream,
        consumer: spec.name,
      });
    return false;
  }
}

/** Whether the consumer exists and only began elsewhere, which no server changes. */
const isThere = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === faults.consumerDiffers &&
  /(deliver policy|start (time|sequence)) can ?not be updated/.test(error.message);

/** Pulls until the connection was lost or the consumer is gone. */
async function* pulling(
  deps: WorkDeps,
  connection: NatsConnection,
  spec: WorkerSpec,
  stop: StopSignal,
): AsyncGenerator<WorkItem> {
  const subject = deps.link.newInbox();
  const inbox = new Inbox<Msg | 'restored'>();
  const subscription = connection.subscribe(subject, {
    callback: (_error, message) => inbox.push(message),
  });
  const unwatch = deps.link.onRestored(() => inbox.push('restored'));
  let asked = false;
  try {
    while (!stop.aborted && !connection.isClosed()) {
      if (!asked)
        connection.publish(
          `$JS.API.CONSUMER.MSG.NEXT.${spec.stream}.${spec.name}`,
          JSON.stringify({ batch: 1, expires: nanos(pullMs) }),
          { reply: subject },
        );
      asked = true;
      const item = await inbox.next(pullMs * 2, stop);
      if (item === 'restored') return;
      asked = false;
      if (item === undefined) continue;
      const delivery = deliveryOf(item.reply);
      if (delivery !== undefined) yield itemOf(deps.link, item, delivery);
      else if (isGone(item)) return;
      else if (item.headers?.code === 409) await pause(50, stop);
    }
  } finally {
    unwatch();
    if (!connection.isClosed()) subscription.unsubscribe();
  }
}

/**
 * 404 and 408 end a pull without work. 409 reports a limit or, like 503, that the consumer is gone.
 */
function isGone(message: Msg): boolean {
  const { headers } = message;
  return (
    headers?.code === 503 ||
    (headers?.code === 409 && /deleted|shutdown|not available/i.test(headers.description))
  );
}

function itemOf(link: NatsLink, message: Msg, delivery: Delivery): WorkItem {
  const { reply } = message;
  const confirmed = async (body: string): Promise<void> => {
    const connection = await link.connection();
    try {
      await connection.request(reply ?? '', body, { timeout: link.timeoutMs });
    } catch (error) {
      const failure = busErrorOf(error, `acknowledging ${message.subject}`);
      // The ack subject has no listener: the stream or consumer is gone. The work will be delivered
      // again, or is not wanted any more.
      throw failure.code === 'no-responders'
        ? new BusError('no-stream', failure.message, { cause: failure })
        : failure;
    }
  };
  return {
    message: delivered(message, delivery),
    deliveries: delivery.deliveries,
    ack: () => confirmed('+ACK'),
    nak: (delayMs) => confirmed(`-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`),
    working: () => confirmed('+WPI'),
  };
}
