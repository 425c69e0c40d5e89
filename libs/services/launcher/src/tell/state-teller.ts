import {
  admissionHeadUid, publishHead, publishPromise, publishState, publishVerdict, streamName, subjects, type AdmissionNumber, type Channel, type PodPromise, type Verdict,
} from '@dovetail/contracts';
import { BusError, type Log, type PublishAck, type StopSignal } from '@dovetail/core-ports';
import { Latch } from '../loop/latch.js';
import { inParallel } from '../loop/in-parallel.js';

export type StateTellerDeps = {
  readonly channel: Channel;
  readonly log: Log;
  /** Which term this is: the first part of every generation. */
  readonly epoch: number;
  /** All promises that bind now. */
  readonly promises: () => readonly PodPromise[];
};

const compareMs = 1_000;
const paceMs = 25;
const tellsInParallel = 32;
type Told = { readonly text: string; readonly sequence: number };

/**
 * Keeps the launcher's part of the state feed equal to what it should say: promises and the head of admissions. Every second it
 * compares what the stream holds, and tells again what is missing under a new generation; so a stream that was lost fills by itself.
 * It expects the last sequence of each subject, so that a deposed launcher cannot overwrite its successor.
 */
export class StateTeller {
  readonly #deps: StateTellerDeps;
  readonly #told = new Map<string, Told>();
  readonly #held = new Map<string, number>();
  readonly #latch = new Latch();
  #telling = 0;
  #head: AdmissionNumber | undefined;

  constructor(deps: StateTellerDeps) { this.#deps = deps; }

  /** Reads what the stream holds, so that the first tellings expect the right sequences. */
  prepare(): Promise<void> { return this.#compare(); }

  /** Something that promises follow from has changed. */
  wake(): void { this.#latch.raise(); }

  /** A number of its own for each telling, so that the bus does not take a retelling for a repetition. */
  generation(): string {
    this.#telling += 1;
    return `${this.#deps.epoch}.${this.#telling}`;
  }

  /** Says which admission was the last. Never rejects: what could not be told is told again by the comparison. */
  async tellHead(head: AdmissionNumber): Promise<void> {
    this.#head = head;
    await this.#tellHead();
  }

  /** Says what became of a pod. Rejects with BusError: the plan must not be acked before its verdicts are known. */
  async tellVerdicts(verdicts: readonly Verdict[]): Promise<void> {
    await inParallel(verdicts, tellsInParallel, (verdict) => publishVerdict(this.#deps.channel, verdict, { generation: this.generation() }));
  }

  /** Tells until `stop`: on every wake, and once a second against what the stream holds. */
  async run(stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    const ticks = async (): Promise<void> => {
      while (!stop.aborted) {
        await this.#compare();
        this.#latch.raise();
        await clock.sleep(compareMs, stop);
      }
    };
    const ticking = ticks();
    while (!stop.aborted) {
      await this.#latch.wait(stop);
      const startedMs = clock.nowMs();
      if (!stop.aborted) await this.#tellChanges();
      // Changes come in bursts; the next telling takes along what came meanwhile. With many promises it leaves time for other work.
      await clock.sleep(Math.max(paceMs, clock.nowMs() - startedMs), stop);
    }
    await ticking;
  }

  async #compare(): Promise<void> {
    const { channel, log } = this.#deps;
    try {
      const stream = streamName(channel.cluster, 'state');
      const [promises, heads] = await Promise.all([
        channel.bus.lastSequences(stream, subjects.stateOfKind(channel.cluster, 'promise')), channel.bus.lastSequences(stream, subjects.stateOfKind(channel.cluster, 'admission')),
      ]);
      this.#held.clear();
      for (const [subject, sequence] of [...promises, ...heads]) this.#held.set(subject, sequence);
      for (const [subject, told] of this.#told) if (this.#held.get(subject) !== told.sequence) this.#told.delete(subject);
    } catch (error) {
      log.warn('state-not-compared', 'the state feed could not be read, it is compared again in a second', { error: String(error) });
    }
  }

  async #tellChanges(): Promise<void> {
    const { channel } = this.#deps;
    if (this.#head !== undefined && !this.#told.has(this.#subjectOf('admission', admissionHeadUid))) await this.#tellHead();
    const wanted = new Map(this.#deps.promises().map((promise) => [this.#subjectOf('promise', promise.holderUid), promise]));
    const changed = [...wanted].filter(([subject, promise]) => this.#told.get(subject)?.text !== JSON.stringify(promise));
    await inParallel(changed, tellsInParallel, ([subject, promise]) => this.#tell(subject, JSON.stringify(promise), (expect) => publishPromise(channel, promise, { generation: this.generation(), expect })));
    const prefix = this.#subjectOf('promise', '');
    const over = [...this.#held.keys(), ...this.#told.keys()].filter((subject) => subject.startsWith(prefix) && !wanted.has(subject) && this.#told.get(subject)?.text !== goneText);
    await inParallel([...new Set(over)], tellsInParallel, (subject) => this.#tell(subject, goneText, (expect) =>
      publishState(channel, { kind: 'gone', stateKind: 'promise', uid: decodeURIComponent(subject.slice(prefix.length)), generation: this.generation() }, { expect })));
  }

  async #tellHead(): Promise<void> {
    const head = this.#head;
    if (head === undefined) return;
    const { channel } = this.#deps;
    await this.#tell(this.#subjectOf('admission', admissionHeadUid), JSON.stringify(head), (expect) => publishHead(channel, head, { generation: this.generation(), expect }));
  }

  async #tell(subject: string, text: string, publish: (expect: number) => Promise<PublishAck>): Promise<void> {
    try {
      const { sequence } = await publish(this.#told.get(subject)?.sequence ?? this.#held.get(subject) ?? 0);
      this.#told.set(subject, { text, sequence });
      this.#held.set(subject, sequence);
    } catch (error) {
      this.#told.delete(subject);
      if (error instanceof BusError && error.code === 'wrong-last-sequence') return;
      this.#deps.log.warn('state-not-told', 'a record of the state feed could not be published, it is told again in a second', { subject, error: String(error) });
    }
  }

  #subjectOf(kind: 'promise' | 'admission', uid: string): string { return subjects.state(this.#deps.channel.cluster, kind, uid); }
}

const goneText = 'gone';
