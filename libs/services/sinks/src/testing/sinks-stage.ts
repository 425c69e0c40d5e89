import { setMaxListeners } from 'node:events';

import {
  type Decision,
  type DecisionKind,
  decodeDecision,
  publishDecision,
  streamName,
} from '@dovetail/contracts';
import { noVitals, type Outcome, type Parcel, type Receiver } from '@dovetail/core-ports';
import { clusterName, hash, Stage } from '@dovetail/sim-stage';

import { createSinks } from '../service.js';
import type { SinkSpec } from '../sink-spec.js';

/** A receiver of a test: it notes each call, and answers as it is told. */
export class TestReceiver implements Receiver {
  readonly batchMax: number;
  /** The ids of each call, with its time in seconds since the stage began. */
  readonly calls: { readonly atSeconds: number; readonly ids: readonly string[] }[] = [];
  readonly parcels: Parcel[] = [];
  /** Answers a parcel. Default: it is taken. */
  answer: (parcel: Parcel) => Outcome | Promise<Outcome> = () => ({ kind: 'taken' });
  readonly #stage: Stage;

  constructor(stage: Stage, batchMax = 1) {
    this.#stage = stage;
    this.batchMax = batchMax;
  }

  async deliver(parcels: readonly Parcel[]): Promise<readonly Outcome[]> {
    const ids = parcels.map(({ event }) => event.id.replace('decision/', ''));
    this.calls.push({ atSeconds: this.#stage.seconds(), ids });
    const outcomes = await Promise.all(parcels.map((parcel) => this.answer(parcel)));
    this.parcels.push(...parcels.filter((_, index) => outcomes[index]?.kind === 'taken'));
    return outcomes;
  }

  close(): void {}

  /** The ids of the decisions that it took, in their order. */
  get taken(): readonly string[] {
    return this.parcels.map(({ event }) => event.id.replace('decision/', ''));
  }
}

/** A dead letter as a test reads it. */
export type ReadLetter = {
  readonly id: string;
  readonly sink: string;
  readonly reason: string;
  readonly attempts: string;
};

/** A stage with sinks. It publishes what services would. */
export class SinksStage extends Stage {
  /**
   * Starts the sinks, as a process does. Returns its end, which is as sudden as that of a crash.
   */
  sinks(...specs: readonly (Partial<SinkSpec> & Pick<SinkSpec, 'receiver'>)[]): () => void {
    const { clock, log, metrics } = this;
    const reader = { bus: this.connect(), cluster: clusterName, hash };
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    this.stop.signal.addEventListener('abort', () => stop.abort());
    const whole = specs.map((spec, index) => ({
      name: `sink${String(index)}`,
      from: 'first' as const,
      giveUpAfterMs: 86_400_000,
      ...spec,
    }));
    const deps = { reader, clock, log, metrics, vitals: noVitals };
    void createSinks(deps, whole).run(stop.signal);
    return () => stop.abort();
  }

  async decide(id: string, over: Partial<Decision> = {}): Promise<void> {
    await publishDecision(this.channel, decisionValue(id, { atMs: this.clock.nowMs(), ...over }));
  }

  async deadLetters(): Promise<readonly ReadLetter[]> {
    const stream = this.server.streams.get(streamName(clusterName, 'deadletters'));
    return [...(stream?.messages(this.clock.nowMs()) ?? [])].map(({ headers, payload }) => {
      const decoded = decodeDecision(payload);
      return {
        id: decoded.ok ? decoded.value.id : '',
        sink: headers['dovetail-sink'] ?? '',
        reason: headers['dovetail-reason'] ?? '',
        attempts: headers['dovetail-attempts'] ?? '',
      };
    });
  }
}

/** A launch with these fields. */
const decisionValue = (id: string, over: Partial<Decision> = {}): Decision => ({
  id,
  kind: 'launch' satisfies DecisionKind,
  atMs: 0,
  source: 'launcher',
  summary: `launched ${id}`,
  objects: [{ kind: 'NodeClaim', name: 'claim-a' }],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});
