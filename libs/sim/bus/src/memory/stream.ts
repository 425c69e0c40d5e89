import {
  BusError,
  type DeliveredMessage,
  type FollowEvent,
  type FollowFrom,
  type OutgoingMessage,
  type PublishAck,
  type StreamExtent,
  type StreamSpec,
} from '@dovetail/core-ports';

import { Wakeup } from './signal.js';
import { matchesSubject } from './subject-filter.js';

/** A message of the stream, with the time at which it expires. */
export type StoredMessage = DeliveredMessage & { readonly expiresMs: number };

/** The events that one follower has not taken yet. */
export class Attachment {
  readonly filters: readonly string[];
  readonly events: FollowEvent[] = [];
  readonly woken = new Wakeup();
  constructor(filters: readonly string[]) {
    this.filters = filters;
  }
  wants(subject: string): boolean {
    return this.filters.some((filter) => matchesSubject(filter, subject));
  }
  push(event: FollowEvent): void {
    this.events.push(event);
    this.woken.wake();
  }
}

const isFrom = (from: Extract<FollowFrom, object>, message: StoredMessage): boolean =>
  'sequence' in from ? message.sequence >= from.sequence : message.timeMs >= from.timeMs;

/** A stream in memory, with those rules of a JetStream stream that the Bus ports show. */
export class MemoryStream {
  spec: StreamSpec;
  readonly incarnation: string;
  readonly changed = new Wakeup();
  /**
   * Deliveries so far, and the time from which the next one may happen, by consumer and sequence.
   */
  readonly consumers = new Map<string, Map<number, { deliveries: number; dueMs: number }>>();
  #lastSequence = 0;
  /** The bytes of all payloads. */
  #bytes = 0;
  /** No message expires before this. */
  #pruneAtMs = Infinity;
  readonly #messages = new Map<number, StoredMessage>();
  readonly #bySubject = new Map<string, number[]>();
  readonly #messageIds = new Map<string, { readonly sequence: number; readonly untilMs: number }>();
  readonly #attached = new Set<Attachment>();

  constructor(spec: StreamSpec, incarnation: string) {
    this.spec = spec;
    this.incarnation = incarnation;
  }

  /** The bytes of all stored payloads. */
  get bytes(): number {
    return this.#bytes;
  }

  position(): StreamExtent {
    const lastSequence = this.#lastSequence;
    const [firstSequence = lastSequence + 1] = this.#messages.keys();
    return { incarnation: this.incarnation, firstSequence, lastSequence };
  }

  covers(subject: string): boolean {
    return this.spec.subjects.some((filter) => matchesSubject(filter, subject));
  }

  publish(message: OutgoingMessage, nowMs: number): PublishAck {
    this.prune(nowMs);
    const seen =
      message.messageId === undefined ? undefined : this.#messageIds.get(message.messageId);
    if (seen !== undefined && seen.untilMs > nowMs)
      return { stream: this.spec.name, sequence: seen.sequence, duplicate: true };
    const last = this.#bySubject.get(message.subject)?.at(-1) ?? 0;
    if (
      message.expectLastSubjectSequence !== undefined &&
      message.expectLastSubjectSequence !== last
    ) {
      throw new BusError(
        'wrong-last-sequence',
        `${message.subject}: expected ${String(message.expectLastSubjectSequence)}, the last sequence is ${String(last)}`,
      );
    }
    this.#refuseIfFull(message);
    const stored = this.#store(message, nowMs);
    if (message.messageId !== undefined)
      this.#messageIds.set(message.messageId, {
        sequence: stored.sequence,
        untilMs: nowMs + this.spec.duplicateWindowMs,
      });
    for (const attachment of this.#attached)
      if (attachment.wants(stored.subject)) attachment.push({ kind: 'message', message: stored });
    this.changed.wake();
    return { stream: this.spec.name, sequence: stored.sequence, duplicate: false };
  }

  /**
   * As NATS with `discard: new`: a stream of state takes nothing beyond its size. A message that
   * replaces one as large fits.
   */
  #refuseIfFull({ subject, payload }: OutgoingMessage): void {
    if (this.spec.keep !== 'last' || this.#bytes + payload.length <= this.spec.maxBytes) return;
    const replaced = this.#messages.get(this.#bySubject.get(subject)?.at(-1) ?? 0);
    if (replaced === undefined || replaced.payload.length < payload.length)
      throw new BusError('full', `${subject}: stream ${this.spec.name}: maximum bytes exceeded`);
  }

  #store(message: OutgoingMessage, nowMs: number): StoredMessage {
    if (this.spec.keep !== 'log')
      for (const older of [...(this.#bySubject.get(message.subject) ?? [])]) this.remove(older);
    this.#lastSequence += 1;
    const lifeMs = Math.min(message.ttlMs ?? Infinity, this.spec.maxAgeMs ?? Infinity);
    const stored: StoredMessage = {
      subject: message.subject,
      payload: Uint8Array.from(message.payload),
      headers: { ...message.headers },
      sequence: this.#lastSequence,
      timeMs: nowMs,
      expiresMs: nowMs + lifeMs,
    };
    this.#messages.set(stored.sequence, stored);
    this.#bytes += stored.payload.length;
    this.#pruneAtMs = Math.min(this.#pruneAtMs, stored.expiresMs);
    this.#bySubject.set(stored.subject, [
      ...(this.#bySubject.get(stored.subject) ?? []),
      stored.sequence,
    ]);
    return stored;
  }

  /** Removes a message that was acked, replaced or has expired. */
  remove(sequence: number): void {
    const message = this.#messages.get(sequence);
    if (message === undefined) return;
    this.#messages.delete(sequence);
    this.#bytes -= message.payload.length;
    const left = (this.#bySubject.get(message.subject) ?? []).filter((other) => other !== sequence);
    if (left.length === 0) this.#bySubject.delete(message.subject);
    else this.#bySubject.set(message.subject, left);
    for (const pending of this.consumers.values()) pending.delete(sequence);
  }

  prune(nowMs: number): void {
    if (nowMs < this.#pruneAtMs) return;
    this.#pruneAtMs = Infinity;
    for (const message of [...this.#messages.values()]) {
      if (message.expiresMs <= nowMs) this.remove(message.sequence);
      else this.#pruneAtMs = Math.min(this.#pruneAtMs, message.expiresMs);
    }
  }

  /** Removes all messages. As in NATS, sequences go on and the duplicate window stays. */
  purge(): void {
    for (const sequence of [...this.#messages.keys()]) this.remove(sequence);
    this.#detachAll('purged');
  }

  /** The stream itself is gone. */
  drop(): void {
    this.#messages.clear();
    this.#bytes = 0;
    this.#bySubject.clear();
    this.consumers.clear();
    this.#detachAll('deleted');
    this.changed.wake();
  }

  #detachAll(reason: string): void {
    const attached = [...this.#attached];
    this.#attached.clear();
    for (const attachment of attached) {
      attachment.events.length = 0;
      attachment.push({ kind: 'reset', reason: `stream ${this.spec.name} was ${reason}` });
    }
  }

  attach(filters: readonly string[], from: FollowFrom, nowMs: number): Attachment {
    this.prune(nowMs);
    const attachment = new Attachment(filters);
    if (from !== 'now')
      for (const message of this.#startingWith(attachment, from))
        attachment.events.push({ kind: 'message', message });
    attachment.events.push({ kind: 'caught-up', position: this.position() });
    this.#attached.add(attachment);
    return attachment;
  }

  *#startingWith(attachment: Attachment, from: FollowFrom): Iterable<StoredMessage> {
    for (const message of this.#messages.values()) {
      const last =
        typeof from === 'object'
          ? isFrom(from, message)
          : from === 'first' || this.#bySubject.get(message.subject)?.at(-1) === message.sequence;
      if (last && attachment.wants(message.subject)) yield message;
    }
  }

  detach(attachment: Attachment): void {
    this.#attached.delete(attachment);
  }

  last(subject: string, nowMs: number): StoredMessage | undefined {
    this.prune(nowMs);
    const sequence = this.#bySubject.get(subject)?.at(-1);
    return sequence === undefined ? undefined : this.#messages.get(sequence);
  }

  lastSequences(filter: string, nowMs: number): ReadonlyMap<string, number> {
    this.prune(nowMs);
    const found = [...this.#bySubject].filter(([subject]) => matchesSubject(filter, subject));
    return new Map(found.map(([subject, sequences]) => [subject, sequences.at(-1) as number]));
  }

  messages(nowMs: number): Iterable<StoredMessage> {
    this.prune(nowMs);
    return this.#messages.values();
  }
}
