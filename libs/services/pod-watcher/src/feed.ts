import { type Channel, encodeStateRecord, publishState, type StateKind, type StateRecord, type StateValue, streamName, subjectOfRecord, subjects } from '@dovetail/contracts';
import { BusError, type Log, type Metrics, type StopSignal } from '@dovetail/core-ports';

/** The kinds that pod-watcher writes; promises, verdicts and the admission head are the launcher's. */
export const ownKinds = ['pod', 'node', 'claim', 'pool', 'nodeclass', 'daemonset', 'pdb', 'namespace', 'pv', 'pvc', 'storageclass', 'csinode'] as const satisfies readonly StateKind[];

type Told = { readonly record: StateRecord; readonly content: string };

const tellingsAtOnceMax = 128;

/**
 * What the state feed should hold, and the telling of it. Only what has changed in the projection is told; each telling
 * expects the last sequence of its subject, so that a deposed leader cannot overwrite its successor.
 */
export class Feed {
  private readonly channel: Channel;
  private readonly log: Log;
  private readonly metrics: Metrics;
  private readonly epoch: number;
  private readonly wanted = new Map<string, Told>();
  private readonly sequences = new Map<string, number>();
  /** Subjects that this term has said something about. */
  private readonly spoken = new Set<string>();
  private readonly dirty = new Set<string>();
  private readonly busy = new Set<string>();
  private generation = 0;
  private wake: () => void = () => undefined;
  private highest = 0;
  private pauseMs = 0;

  constructor(options: { readonly channel: Channel; readonly log: Log; readonly metrics: Metrics; readonly epoch: number }) {
    this.channel = options.channel;
    this.log = options.log;
    this.metrics = options.metrics;
    this.epoch = options.epoch;
  }

  /** An object as it is now. Nothing happens when its projection says what it said before. */
  set(uid: string, state: StateValue): void {
    const record: StateRecord = { kind: 'set', uid, state, generation: this.tellingName() };
    this.want(record, contentOf(state));
  }

  gone(kind: StateKind, uid: string): void {
    this.want({ kind: 'gone', stateKind: kind, uid, generation: this.tellingName() }, 'gone');
  }

  /** Everything wanted so far has been told. */
  get settled(): boolean {
    return this.dirty.size === 0 && this.busy.size === 0;
  }

  /** The highest sequence that this leader's tellings have got. */
  get sequence(): number {
    return this.highest;
  }

  private tellingName(): string {
    return `${this.epoch}.${this.generation}`;
  }

  private want(record: StateRecord, content: string): void {
    const subject = subjectOfRecord(this.channel.cluster, record);
    if (this.wanted.get(subject)?.content === content) return;
    this.wanted.set(subject, { record, content });
    this.spoken.add(subject);
    this.dirty.add(subject);
    this.wake();
  }

  /** Learns what a predecessor has left in the stream, so that first tellings expect the right sequences. */
  async preload(): Promise<void> {
    for (const [subject, sequence] of await this.held()) if (!this.sequences.has(subject)) this.sequences.set(subject, sequence);
  }

  private async held(): Promise<ReadonlyMap<string, number>> {
    const { cluster, bus } = this.channel;
    const held = new Map<string, number>();
    for (const kind of ownKinds) for (const [subject, sequence] of await bus.lastSequences(streamName(cluster, 'state'), subjects.stateOfKind(cluster, kind))) held.set(subject, sequence);
    return held;
  }

  /** Tells what is wanted, many at once but each subject in order, until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    stop.addEventListener('abort', () => this.wake(), { once: true });
    while (!stop.aborted) {
      for (const subject of this.dirty) {
        if (this.busy.size >= tellingsAtOnceMax) break;
        if (this.busy.has(subject)) continue;
        this.dirty.delete(subject);
        this.busy.add(subject);
        void this.tell(subject).finally(() => {
          this.busy.delete(subject);
          this.wake();
        });
      }
      if (this.pauseMs > 0) {
        await this.channel.clock.sleep(this.pauseMs, stop);
        this.pauseMs = 0;
      } else if (this.idle()) await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  private idle(): boolean {
    return this.busy.size >= tellingsAtOnceMax || ![...this.dirty].some((subject) => !this.busy.has(subject));
  }

  private async tell(subject: string): Promise<void> {
    const told = this.wanted.get(subject);
    if (told === undefined) return;
    try {
      const ack = await publishState(this.channel, told.record, { expect: this.sequences.get(subject) ?? 0 });
      this.sequences.set(subject, ack.sequence);
      this.highest = Math.max(this.highest, ack.sequence);
      if (told.content === 'gone') this.forget(subject, told);
      this.metrics.count('dovetail_state_published_total', { kind: kindOf(told.record) });
    } catch (error) {
      await this.settle(subject, error);
    }
  }

  private forget(subject: string, told: Told): void {
    if (this.wanted.get(subject) === told) this.wanted.delete(subject);
  }

  private async settle(subject: string, error: unknown): Promise<void> {
    this.dirty.add(subject);
    if (error instanceof BusError && error.code === 'wrong-last-sequence') {
      const last = await this.channel.bus.lastMessage(streamName(this.channel.cluster, 'state'), subject).catch(() => undefined);
      this.sequences.set(subject, last?.sequence ?? 0);
      this.retell(subject);
      return;
    }
    if (!(error instanceof BusError)) {
      this.dirty.delete(subject);
      this.log.error('state-not-encodable', `an object cannot be told: ${String(error)}`, { subject });
      return;
    }
    this.pauseMs = 100;
    this.log.debug('state-telling-failed', `telling ${subject} failed: ${error.message}; trying again`);
  }

  /** The same value under a new name, because the bus swallows what it has seen within its duplicate window. */
  private retell(subject: string): void {
    const told = this.wanted.get(subject);
    if (told === undefined) return;
    this.generation += 1;
    this.wanted.set(subject, { ...told, record: { ...told.record, generation: this.tellingName() } });
    this.dirty.add(subject);
    this.wake();
  }

  /**
   * Compares what the stream holds with what it should hold, and tells again what is missing; what is there and should
   * not be is told as gone once `complete` (all watches have seen everything).
   */
  async reconcile(complete: boolean): Promise<{ readonly missing: number; readonly surplus: number }> {
    const held = await this.held();
    let missing = 0;
    for (const [subject, told] of this.wanted) {
      if (held.has(subject) || told.content === 'gone' || this.dirty.has(subject) || this.busy.has(subject) || !this.sequences.has(subject)) continue;
      missing += 1;
      this.sequences.set(subject, 0);
      this.retell(subject);
    }
    const surplus = complete ? this.tellSurplus(held) : 0;
    return { missing, surplus };
  }

  private tellSurplus(held: ReadonlyMap<string, number>): number {
    let surplus = 0;
    for (const [subject, sequence] of held) {
      if (this.spoken.has(subject)) continue;
      const [kind, uid] = subject.split('.').slice(-2);
      this.sequences.set(subject, sequence);
      if (!isOwnKind(kind) || uid === undefined) continue;
      surplus += 1;
      this.gone(kind, decodeURIComponent(uid));
    }
    return surplus;
  }
}

const isOwnKind = (kind: string | undefined): kind is StateKind => ownKinds.some((own) => own === kind);
const kindOf = (record: StateRecord): string => (record.kind === 'set' ? record.state.kind : record.stateKind);

/** The projection's content without its resourceVersion: a change that nobody reads is no change. */
function contentOf(state: StateValue): string {
  const value = 'resourceVersion' in state.value ? { ...state.value, resourceVersion: '' } : state.value;
  const bytes = encodeStateRecord({ kind: 'set', uid: '-', state: { kind: state.kind, value } as StateValue, generation: '-' });
  let text = '';
  for (let at = 0; at < bytes.length; at += 4_096) text += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return text;
}
