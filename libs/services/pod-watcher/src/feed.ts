import {
  type Channel, encodeStateRecord, limits, messageIdOf, publishState, type StateEvent, stateEventOf, type StateKind, type StateRecord, type StateValue, streamName, subjectOfRecord, subjects,
} from '@dovetail/contracts';
import { BusError, type Log, type Metrics, type StopSignal } from '@dovetail/core-ports';

/** The kinds that pod-watcher writes; promises, verdicts and the admission head are the launcher's. */
export const ownKinds = ['pod', 'node', 'claim', 'pool', 'nodeclass', 'daemonset', 'pdb', 'namespace', 'pv', 'pvc', 'storageclass', 'csinode'] as const satisfies readonly StateKind[];

/** What should be told of one subject; the content is the projection without its resourceVersion. */
type Wanted = { readonly record: StateRecord; readonly content: string };
/** What the stream holds of one subject. */
type Held = { readonly sequence: number; readonly content: string; readonly generation: string; readonly kind: StateKind; readonly uid: string };

const tellingsAtOnceMax = 128;
/** What comes while others are being told goes out together, in one packet: a thousand pods at once would be a thousand packets. */
const gatherMs = 4;
const gone = 'gone';

export type FeedOptions = { readonly channel: Channel; readonly log: Log; readonly metrics: Metrics; readonly epoch: number };

/**
 * What the state feed should hold, what it does hold, and the telling of the difference. Only what has changed in the
 * projection is told; each telling expects the last sequence of its subject, so that a deposed leader cannot overwrite its
 * successor. What a predecessor has told is left as it is where it still holds.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #wanted = new Map<string, Wanted>();
  readonly #held = new Map<string, Held>();
  readonly #dirty = new Set<string>();
  readonly #busy = new Set<string>();
  #generation = 0;
  #position = { incarnation: '', sequence: 0 };
  #caughtUp = false;
  #pauseMs = 0;
  /** Counts losses of the stream: an answer to a telling from before one says nothing about what is there now. */
  #losses = 0;
  #wake: () => void = () => undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** An object as it is now. Nothing happens when its projection says what it said before. */
  set(uid: string, state: StateValue): void {
    this.#want({ kind: 'set', uid, state, generation: this.#telling() }, contentOf(state));
  }

  gone(kind: StateKind, uid: string): void {
    // The same UID may have gone before (a Provisioner's inline class): the bus would swallow an equal telling.
    this.#generation += 1;
    this.#want({ kind: 'gone', stateKind: kind, uid, generation: this.#telling() }, gone);
  }

  /** Those of these objects of which something is still to be told. */
  untold(kind: StateKind, uids: readonly string[]): readonly string[] {
    if (!this.#caughtUp) return uids;
    return uids.filter((uid) => {
      const subject = subjects.state(this.#options.channel.cluster, kind, uid);
      return this.#dirty.has(subject) || this.#busy.has(subject);
    });
  }

  /** Everything wanted so far has been told. */
  get settled(): boolean {
    return this.#caughtUp && this.#dirty.size === 0 && this.#busy.size === 0;
  }

  /** The stream's identity and the last sequence of it that is known here. */
  get position(): { readonly incarnation: string; readonly sequence: number } {
    return this.#position;
  }

  /** How many subjects are still to be told. */
  get backlog(): number {
    return this.#dirty.size + this.#busy.size;
  }

  #telling(): string {
    return `${String(this.#options.epoch)}.${String(this.#generation)}`;
  }

  #want(record: StateRecord, content: string): void {
    const subject = subjectOfRecord(this.#options.channel.cluster, record);
    if (this.#wanted.get(subject)?.content === content) return;
    this.#wanted.set(subject, { record, content });
    this.#mark(subject);
  }

  /** Notes what is still to be told of a subject: nothing, when the stream says it already. */
  #mark(subject: string): void {
    const wanted = this.#wanted.get(subject);
    const held = this.#held.get(subject)?.content;
    // Nothing in the stream is as good as a tombstone.
    const same = wanted === undefined || held === wanted.content || (wanted.content === gone && held === undefined && this.#caughtUp);
    if (!same) this.#dirty.add(subject);
    else if (this.#dirty.delete(subject) || wanted?.content === gone) this.#forgetGone(subject);
    this.#wake();
  }

  #forgetGone(subject: string): void {
    if (this.#busy.has(subject) || this.#wanted.get(subject)?.content !== gone) return;
    this.#wanted.delete(subject);
    this.#held.delete(subject);
    this.#dirty.delete(subject);
  }

  /** What the stream says, from a follower of all own kinds. Nothing is told before it has been read to its end. */
  heard(event: StateEvent): void {
    if (event.kind === 'reset') {
      this.#losses += 1;
      this.#held.clear();
      this.#caughtUp = false;
      this.#position = { incarnation: '', sequence: 0 };
    } else if (event.kind === 'caught-up') {
      this.#caughtUp = true;
      const { incarnation, lastSequence } = event.position;
      this.#position = { incarnation, sequence: Math.max(this.#position.sequence, lastSequence) };
      this.#retellLost();
    } else if (event.kind === 'record') this.#hear(event);
  }

  #hear({ record, sequence }: Extract<StateEvent, { kind: 'record' }>): void {
    this.#position = { ...this.#position, sequence: Math.max(this.#position.sequence, sequence) };
    const subject = subjectOfRecord(this.#options.channel.cluster, record);
    const kind = record.kind === 'gone' ? record.stateKind : record.state.kind;
    if (!isOwnKind(kind) || (this.#held.get(subject)?.sequence ?? 0) >= sequence) return;
    const wanted = this.#wanted.get(subject);
    const ours = wanted !== undefined && messageIdOf(wanted.record) === messageIdOf(record);
    if (record.kind === 'gone' && wanted === undefined) {
      this.#held.delete(subject);
      return;
    }
    const content = ours ? wanted.content : record.kind === 'gone' ? gone : contentOf(record.state);
    this.#held.set(subject, { sequence, content, generation: record.generation, kind, uid: record.uid });
    if (wanted !== undefined && content !== wanted.content && !this.#dirty.has(subject) && !this.#busy.has(subject)) this.#retell(subject);
    else if (this.#caughtUp) this.#mark(subject);
  }

  /** Tells what is wanted, many at once but each subject in order, until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const { clock } = this.#options.channel;
    stop.addEventListener('abort', () => this.#wake(), { once: true });
    while (!stop.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#pauseMs > 0) {
        const pauseMs = this.#pauseMs;
        this.#pauseMs = 0;
        await clock.sleep(pauseMs, stop);
      }
      if (this.#busy.size > 0) await clock.sleep(gatherMs, stop);
      if (this.#caughtUp) this.#start();
      await woken;
    }
  }

  #start(): void {
    for (const subject of this.#dirty) {
      if (this.#busy.size >= tellingsAtOnceMax) return;
      if (this.#busy.has(subject)) continue;
      this.#dirty.delete(subject);
      this.#busy.add(subject);
      void this.#tell(subject).finally(() => {
        this.#busy.delete(subject);
        this.#mark(subject);
      });
    }
  }

  async #tell(subject: string): Promise<void> {
    const { channel, metrics } = this.#options;
    const wanted = this.#wanted.get(subject);
    if (wanted === undefined || this.#deposed(subject)) return;
    const losses = this.#losses;
    try {
      const ack = await publishState(channel, wanted.record, { expect: this.#held.get(subject)?.sequence ?? 0 });
      if (losses !== this.#losses) return;
      const kind = wanted.record.kind === 'gone' ? wanted.record.stateKind : wanted.record.state.kind;
      if ((this.#held.get(subject)?.sequence ?? 0) < ack.sequence) {
        this.#held.set(subject, { sequence: ack.sequence, content: wanted.content, generation: wanted.record.generation, kind, uid: wanted.record.uid });
      }
      this.#position = { ...this.#position, sequence: Math.max(this.#position.sequence, ack.sequence) };
      metrics.count('dovetail_state_published_total', { kind });
    } catch (error) {
      await this.#failed(subject, wanted, error);
    }
  }

  /** A successor has spoken: whoever wakes from a pause says nothing over it. */
  #deposed(subject: string): boolean {
    const epoch = Number(this.#held.get(subject)?.generation.split('.')[0] ?? 0);
    if (epoch <= this.#options.epoch) return false;
    this.#options.log.warn('deposed', `the state feed has a leader of epoch ${String(epoch)}; this one is of ${String(this.#options.epoch)} and says nothing`, { subject });
    this.#wanted.delete(subject);
    return true;
  }

  async #failed(subject: string, wanted: Wanted, error: unknown): Promise<void> {
    const { channel, log, metrics } = this.#options;
    if (!(error instanceof BusError)) {
      // Told once per content: the object stays as it was known, and the next change is tried again.
      this.#held.set(subject, { sequence: this.#held.get(subject)?.sequence ?? 0, content: wanted.content, generation: '', kind: 'pod', uid: wanted.record.uid });
      metrics.count('dovetail_state_refused_total');
      log.error('state-not-encodable', `an object cannot be told: ${String(error)}`, { subject });
      return;
    }
    if (error.code !== 'wrong-last-sequence') {
      this.#pauseMs = 100;
      log.debug('state-telling-failed', `telling ${subject} failed: ${error.message}; trying again`);
      return;
    }
    const last = await channel.bus.lastMessage(streamName(channel.cluster, 'state'), subject).catch(() => undefined);
    this.#held.delete(subject);
    const event = last === undefined ? undefined : stateEventOf(channel.cluster, last);
    if (event?.kind === 'record') this.#hear(event);
    else if (last !== undefined) this.#held.set(subject, { sequence: last.sequence, content: '', generation: '', kind: 'pod', uid: wanted.record.uid });
    this.#retell(subject);
  }

  /** The same value under a new name, because the bus swallows what it has seen within its duplicate window. */
  #retell(subject: string): void {
    const wanted = this.#wanted.get(subject);
    if (wanted === undefined) return;
    this.#generation += 1;
    this.#wanted.set(subject, { ...wanted, record: { ...wanted.record, generation: this.#telling() } });
    this.#mark(subject);
  }

  #retellLost(): number {
    let lost = 0;
    for (const [subject, wanted] of this.#wanted) {
      if (this.#busy.has(subject)) continue;
      if (this.#held.has(subject) || this.#dirty.has(subject) || wanted.content === gone) this.#mark(subject);
      else {
        lost += 1;
        this.#retell(subject);
      }
    }
    if (lost > 0) {
      this.#options.log.warn('state-lost', `the stream had lost ${String(lost)} objects; they are told again`, { lost });
      this.#options.metrics.count('dovetail_state_repaired_total', {}, lost);
    }
    return lost;
  }

  /**
   * Tells again what the stream has lost, and tells as gone what it holds and nothing wants, once `complete` (all watches have
   * seen everything) and but for objects that are there and cannot be read.
   */
  reconcile(options: { readonly complete: boolean; readonly unreadable: ReadonlySet<string> }): { readonly lost: number; readonly surplus: number } {
    if (!this.#caughtUp) return { lost: 0, surplus: 0 };
    const lost = this.#retellLost();
    let surplus = 0;
    if (!options.complete) return { lost, surplus };
    for (const [subject, held] of [...this.#held]) {
      if (held.content === gone || this.#wanted.has(subject) || options.unreadable.has(held.uid)) continue;
      surplus += 1;
      this.gone(held.kind, held.uid);
    }
    return { lost, surplus };
  }

  /** Compares with the stream itself, for what a follower cannot see: messages that someone has deleted one by one. */
  async audit(): Promise<void> {
    const { bus, cluster } = this.#options.channel;
    const before = this.#position;
    const there = await bus.lastSequences(streamName(cluster, 'state'), subjects.stateAll(cluster));
    if (this.#position.incarnation !== before.incarnation || !this.#caughtUp) return;
    for (const [subject, held] of [...this.#held]) if (held.sequence <= before.sequence && !there.has(subject)) this.#held.delete(subject);
  }
}

/** How often `audit` is worth its reading of every subject. */
export const auditMs = limits.tombstoneMs / 20;

const isOwnKind = (kind: string): kind is (typeof ownKinds)[number] => ownKinds.some((own) => own === kind);

/**
 * The projection's content without what nobody reads: a change of that is no change. Besides the resourceVersion that is the scheduler's
 * word on each pod: batches say who needs a node, and a large deployment would be told twice over.
 */
function contentOf(state: StateValue): string {
  const plain = 'resourceVersion' in state.value ? { ...state.value, resourceVersion: '' } : state.value;
  const value = state.kind === 'pod' ? { ...plain, unschedulable: false } : plain;
  let bytes: Uint8Array;
  try {
    bytes = encodeStateRecord({ kind: 'set', uid: '-', state: { kind: state.kind, value } as StateValue, generation: '-' });
  } catch (error) {
    return `not encodable: ${String(error)}`;
  }
  let text = '';
  for (let at = 0; at < bytes.length; at += 4_096) text += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return text;
}
