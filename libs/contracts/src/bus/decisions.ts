import type { FollowFrom, PublishAck, StopSignal, StreamPosition } from '@dovetail/core-ports';
import { decodeDecision, encodeDecision } from '../codec/index.js';
import { limits } from '../limits.js';
import type { Decision, DecisionKind } from '../messages.js';
import { streamName, subjects } from '../subjects.js';
import { type Channel, payloadOf, post, type Reader } from './channel.js';
import type { MalformedMessage } from './state.js';

/** Tells a fact that has happened. No service depends on it: the caller reports a failure and goes on. */
export function publishDecision(channel: Channel, decision: Decision): Promise<PublishAck> {
  const told = { ...decision, alternatives: decision.alternatives.slice(0, limits.alternativesMax) };
  return post(channel, {
    subject: subjects.decision(channel.cluster, decision.kind, decision.pool), type: 'Decision', payload: encodeDecision(told), messageId: `decision/${decision.id}`,
  });
}

export type DecisionEvent =
  | { readonly kind: 'decision'; readonly decision: Decision; readonly sequence: number; readonly timeMs: number }
  | { readonly kind: 'caught-up'; readonly position: StreamPosition }
  | { readonly kind: 'reset'; readonly reason: string }
  | MalformedMessage;

export type FollowDecisionsOptions = {
  /** Only these kinds; absent: all. */
  readonly kinds?: readonly DecisionKind[];
  /** `first`: from the oldest one kept (7 days), the default; `now`: only what comes; `last-per-subject`: the last of each kind and pool first. */
  readonly from?: FollowFrom;
};

/**
 * Follows decisions: for anyone who wants to know what Dovetail does and why. Needs the right to read
 * `dovetail.<cluster>.decision.v1.>` and nothing else. `caught-up` comes once everything kept has been given.
 *
 * ```ts
 * const bus = await connectNats({ servers: ['nats://127.0.0.1:4222'], name: 'my-tool', log });
 * for await (const event of followDecisions({ bus, cluster: 'lab', hash }, stop, { kinds: ['launch'] })) {
 *   if (event.kind === 'decision') console.log(event.decision.summary, event.decision.priceMicrosPerHour);
 * }
 * ```
 */
export async function* followDecisions(reader: Reader, stop: StopSignal, options: FollowDecisionsOptions = {}): AsyncGenerator<DecisionEvent> {
  const filters = options.kinds?.map((kind) => subjects.decisionsOfKind(reader.cluster, kind)) ?? [subjects.decisionAll(reader.cluster)];
  const follow = { stream: streamName(reader.cluster, 'decisions'), filters, from: options.from ?? 'first' } as const;
  for await (const event of reader.bus.follow(follow, stop)) {
    if (event.kind !== 'message') {
      yield event;
      continue;
    }
    const { subject, sequence, timeMs } = event.message;
    const bytes = await payloadOf(reader, event.message);
    const decoded = bytes.ok ? decodeDecision(bytes.value) : bytes;
    yield decoded.ok ? { kind: 'decision', decision: decoded.value, sequence, timeMs } : { kind: 'malformed', subject, sequence, field: decoded.field, reason: decoded.reason };
  }
}
