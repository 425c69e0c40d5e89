import type {
  DeliveredMessage,
  FollowFrom,
  PublishAck,
  StopSignal,
  StreamPosition,
  TracePlace,
} from '@dovetail/core-ports';

import { decodeDecision, encodeDecision } from '../codec/index.js';
import { limits } from '../limits.js';
import type { Decision, DecisionKind, Decoded } from '../messages.js';
import { streamName, subjects } from '../subjects.js';
import { traceparentOf } from '../traces.js';
import { type Channel, payloadOf, post, type Reader } from './channel.js';
import type { MalformedMessage } from './state.js';

/**
 * Publishes a fact that has happened. No service depends on it: the caller logs a failure and
 * continues. `place` is that of its work in a trace.
 */
export function publishDecision(
  channel: Channel,
  decision: Decision,
  place?: TracePlace,
): Promise<PublishAck> {
  const published = {
    ...decision,
    alternatives: decision.alternatives.slice(0, limits.alternativesMax),
  };
  const [first] = decision.objects;
  return post(channel, {
    subject: subjects.decision(channel.cluster, decision.kind, decision.pool),
    stream: 'decisions',
    type: `Decision.${decision.kind}`,
    ...(first === undefined ? {} : { about: nameOf(first) }),
    payload: encodeDecision(published),
    messageId: `decision/${decision.id}`,
    ...(place === undefined ? {} : { traceparent: traceparentOf(place, channel.traces) }),
  });
}

/** `Pod/default/web-1`, `Node/ip-10-0-0-4`: the object that a decision names first. */
const nameOf = ({ kind, namespace, name }: Decision['objects'][number]): string =>
  [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/');

/** A decision as a follower receives it. `caught-up` comes once everything kept has been read. */
export type DecisionEvent =
  | {
      readonly kind: 'decision';
      readonly decision: Decision;
      readonly sequence: number;
      readonly timeMs: number;
    }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string }
  | MalformedMessage;

/** Which decisions to follow, and from when. */
export type FollowDecisionsOptions = {
  /** Only these kinds. Absent: all kinds. */
  readonly kinds?: readonly DecisionKind[];
  /**
   * `first`, the default: from the oldest decision kept (7 days). `now`: only new ones.
   * `last-per-subject`: first the last decision of each kind and pool, then new ones. `{ sequence
   * }` or `{ timeMs }`: from there. A program that has kept the sequence of its last decision goes
   * on with the one after it.
   */
  readonly from?: FollowFrom;
};

/**
 * Follows decisions, until `stop` is aborted. Anyone may: it needs the right to read
 * `dovetail.<cluster>.decision.v1.>` and nothing else. A fact that is on the stream twice, with one
 * `id`, comes once.
 *
 * ```ts
 * const bus = connectNatsReader({ servers: ['nats://127.0.0.1:4222'], name: 'my-tool', log });
 * const source = { bus, cluster: 'lab', hash };
 * for await (const event of followDecisions(source, stop, { kinds: ['launch'] })) {
 *   if (event.kind !== 'decision') continue;
 *   console.log(event.decision.summary, event.decision.priceMicrosPerHour);
 * }
 * ```
 */
export async function* followDecisions(
  reader: Reader,
  stop: StopSignal,
  options: FollowDecisionsOptions = {},
): AsyncGenerator<DecisionEvent> {
  const filters = options.kinds?.map((kind) => subjects.decisionsOfKind(reader.cluster, kind)) ?? [
    subjects.decisionAll(reader.cluster),
  ];
  const follow = {
    stream: streamName(reader.cluster, 'decisions'),
    filters,
    from: options.from ?? 'first',
  } as const;
  const heard = new HeardIds();
  for await (const event of reader.bus.follow(follow, stop)) {
    if (event.kind !== 'message') {
      yield event;
      continue;
    }
    const { subject, sequence, timeMs } = event.message;
    const decoded = await decisionOf(reader, event.message);
    if (!decoded.ok)
      yield { kind: 'malformed', subject, sequence, field: decoded.field, reason: decoded.reason };
    else if (heard.isNew(decoded.value.id))
      yield { kind: 'decision', decision: decoded.value, sequence, timeMs };
  }
}

/** The decision of a message of the stream. Rejects with BusError if its parts cannot be had. */
export async function decisionOf(
  reader: Reader,
  message: DeliveredMessage,
): Promise<Decoded<Decision>> {
  const bytes = await payloadOf(reader, message);
  return bytes.ok ? decodeDecision(bytes.value) : bytes;
}

/**
 * Ids that a follower remembers: those of a large cluster's day, in a few megabytes. A publisher
 * repeats a decision after an outage of the bus or a change of leaders, which take minutes.
 */
const heardMax = 20_000;

/** The ids of the last decisions, to recognise one that was published twice. */
export class HeardIds {
  /** In the order of their first occurrence. */
  readonly #ids = new Set<string>();

  /** Whether the id comes for the first time. It is remembered. */
  isNew(id: string): boolean {
    if (this.has(id)) return false;
    this.add(id);
    return true;
  }

  /** Whether the id was added before. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Remembers the id, and forgets the oldest beyond the limit. */
  add(id: string): void {
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= heardMax) break;
      this.#ids.delete(oldest);
    }
  }
}
