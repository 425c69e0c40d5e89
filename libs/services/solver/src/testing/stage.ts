/** A bus under a clock that the test moves, and everything that a solver hears of. */
import { createHash } from 'node:crypto';
import {
  type AdmissionHead, type Channel, type Decision, decodePlanMessage, followDecisions, payloadOf, type PendingBatch, type PlanMessage, publishBatch, publishClassCatalog, publishHead, publishPromise, publishState, publishUnavailable,
  type StateKind, type StateValue, streamName, streamSpecs, subjects, type UnavailableOffering,
} from '@dovetail/contracts';
import { type Bus, type Log, type Metrics, Stopper } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { type EnginePort, inThread } from '../engine-port.js';
import { SolverEngine } from '../engine.js';
import { defaultSolverConfig, runSolver, type SolverConfig, tellMalformed } from '../run-solver.js';
import { classOf, poolOf, types } from './objects.js';

export const cluster = 'lab';
export const hash = { sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex') };

export class Stage {
  readonly clock = virtualClock(1_700_000_000_000);
  readonly server = new MemoryBusServer(this.clock);
  readonly bus: Bus = memoryBus(this.server);
  readonly channel: Channel = { bus: this.bus, cluster, source: 'test', clock: this.clock, hash };
  readonly stop = new Stopper();
  readonly plans: PlanMessage[] = [];
  readonly decisions: Decision[] = [];
  readonly lines: { readonly level: string; readonly name: string; readonly message: string }[] = [];
  readonly engines: SolverEngine[] = [];
  readonly observed: { readonly metric: string; readonly value: number; readonly labels: Readonly<Record<string, string>> }[] = [];
  #tellings = 0;
  #rounds = 0;

  readonly log: Log = {
    debug: () => undefined, info: (name, message) => void this.lines.push({ level: 'info', name, message }),
    warn: (name, message) => void this.lines.push({ level: 'warn', name, message }), error: (name, message) => void this.lines.push({ level: 'error', name, message }),
  };

  async begin(): Promise<this> {
    await this.bus.ensureStreams(streamSpecs(cluster));
    void this.#listen();
    void (async () => {
      for await (const event of followDecisions(this.channel, this.stop)) if (event.kind === 'decision') this.decisions.push(event.decision);
    })();
    return this;
  }

  async #listen(): Promise<void> {
    for await (const event of this.bus.follow({ stream: streamName(cluster, 'plans'), filters: [subjects.planAll(cluster)], from: 'first' }, this.stop)) {
      const bytes = event.kind === 'message' ? await payloadOf(this.channel, event.message) : undefined;
      const read = bytes?.ok === true ? decodePlanMessage(bytes.value) : undefined;
      if (read?.ok === true) this.plans.push(read.value);
    }
  }

  /** The plan that came at this place, from 0. Throws, with what was logged, when there are not so many. */
  planOf(index: number): PlanMessage['plan'] {
    const message = this.plans[index];
    if (message === undefined) throw new Error(`there are ${String(this.plans.length)} plans; said: ${JSON.stringify(this.lines)}`);
    return message.plan;
  }

  /** A pool, its class and a catalog of three types. */
  async basics(): Promise<void> {
    await this.tell('nodeclass', classOf());
    await this.tell('pool', poolOf('default'));
    await this.catalog();
  }

  catalog(revision = 'r1', instanceTypes = types): Promise<void> {
    return publishClassCatalog(this.channel, { classUid: 'class-default', revision, instanceTypes }, { generation: String(this.#tellings++) });
  }

  unavailable(offering: UnavailableOffering): Promise<unknown> {
    return publishUnavailable(this.channel, offering, { generation: String(this.#tellings++) });
  }

  async tell<K extends StateKind>(kind: K, value: Extract<StateValue, { kind: K }>['value'] & { readonly uid: string }): Promise<number> {
    const ack = await publishState(this.channel, { kind: 'set', uid: value.uid, state: { kind, value } as unknown as StateValue, generation: `1.${String(this.#tellings++)}` });
    return ack.sequence;
  }

  async gone(stateKind: StateKind, uid: string): Promise<void> {
    await publishState(this.channel, { kind: 'gone', stateKind, uid, generation: `1.${String(this.#tellings++)}` });
  }

  async promise(holderUid: string, podUids: readonly string[]): Promise<void> {
    await publishPromise(this.channel, { holderUid, holderKind: 'NodeClaim', holderName: holderUid, podUids, admission: { epoch: 1, number: 1 }, reserved: {} }, { generation: `1.${String(this.#tellings++)}` });
  }

  async head(value: AdmissionHead): Promise<void> {
    await publishHead(this.channel, value, { generation: `1.${String(this.#tellings++)}` });
  }

  /** A batch of these pods, cut at what the stream holds now unless it is said otherwise. */
  async batch(podUids: readonly string[], change: Partial<PendingBatch> = {}): Promise<void> {
    const position = await this.bus.position(streamName(cluster, 'state'));
    this.#rounds += 1;
    await publishBatch(this.channel, {
      group: 'g', podUids, round: `1.${String(this.#rounds)}`, statePosition: { incarnation: position.incarnation, sequence: position.lastSequence }, cutAtMs: this.clock.nowMs(), youngestMs: this.clock.nowMs(), ...change,
    });
  }

  solver(name: string, options: { readonly config?: Partial<SolverConfig>; readonly around?: (engine: EnginePort) => EnginePort } = {}): Stopper {
    const stop = new Stopper(this.stop);
    const bus = memoryBus(this.server);
    const metrics: Metrics = { count: (metric, labels = {}, by = 1) => { this.observed.push({ metric, value: by, labels }); }, set: () => undefined, observe: (metric, value, labels = {}) => { this.observed.push({ metric, value, labels }); } };
    const engine = new SolverEngine({ cluster, solver: name, hash, nowMs: () => this.clock.nowMs(), onMalformed: tellMalformed({ log: this.log, metrics }) });
    this.engines.push(engine);
    const port = inThread(engine, (ms) => this.clock.sleep(ms, stop));
    const deps = { channel: { ...this.channel, bus, source: 'solver' }, engine: options.around?.(port) ?? port, log: this.log, metrics };
    runSolver(deps, { ...defaultSolverConfig, ...options.config }, stop).catch((error: unknown) => this.lines.push({ level: 'error', name: 'died', message: String(error) }));
    return stop;
  }

  said(name: string): readonly string[] {
    return this.lines.filter((line) => line.name === name).map((line) => line.message);
  }

  /** Batches that nobody has acked yet. */
  async queued(): Promise<number> {
    return (await this.bus.lastSequences(streamName(cluster, 'pending'), subjects.pendingAll(cluster))).size;
  }
}
