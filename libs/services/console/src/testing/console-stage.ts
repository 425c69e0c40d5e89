import {
  type Decision,
  type DecisionKind,
  publishBatch,
  publishDecision,
  publishHead,
  publishPromise,
  publishState,
  publishVerdict,
  type StateKind,
  type StateValue,
  type Verdict,
} from '@dovetail/contracts';
import { clusterName, hash, Stage } from '@dovetail/sim-stage';

import { defaultConsoleConfig } from '../config.js';
import { type Console, createConsole } from '../console.js';
import type { Frame } from '../view/frames.js';
import { applied, emptyView, type View } from '../view/view.js';

/** A page of a test: the frames that came, and the view that they make. */
export type TestPage = { readonly frames: readonly Frame[]; view(): View; close(): void };

/** A stage with a console. It publishes what services would. */
export class ConsoleStage extends Stage {
  #tellings = 0;

  console(): Console {
    const reader = { bus: this.connect(), cluster: clusterName, hash };
    const { clock, log, metrics } = this;
    const service = createConsole({ reader, clock, log, metrics }, defaultConsoleConfig);
    void service.run(this.stop.signal);
    return service;
  }

  page(service: Console): TestPage {
    const frames: Frame[] = [];
    const close = service.subscribe((frame) => frames.push(frame));
    return { frames, close, view: () => frames.reduce(applied, emptyView) };
  }

  async tell<K extends StateKind>(
    kind: K,
    value: Extract<StateValue, { kind: K }>['value'] & { readonly uid: string },
  ): Promise<void> {
    await publishState(this.channel, {
      kind: 'set',
      uid: value.uid,
      state: { kind, value } as unknown as StateValue,
      generation: this.#generation(),
    });
  }

  async gone(stateKind: StateKind, uid: string): Promise<void> {
    const generation = this.#generation();
    await publishState(this.channel, { kind: 'gone', stateKind, uid, generation });
  }

  /** Queues a batch of a group of pods. */
  async batch(group: string): Promise<void> {
    await publishBatch(this.channel, {
      group,
      podUids: [group],
      round: this.#generation(),
      statePosition: { incarnation: 'one', sequence: 1 },
      cutAtMs: this.clock.nowMs(),
      youngestMs: this.clock.nowMs(),
    });
  }

  async verdict(podUid: string, over: Partial<Verdict>): Promise<void> {
    const verdict: Verdict = {
      podUid,
      outcome: 'unplaced',
      planId: 'plan',
      binId: '',
      admission: { epoch: 1, number: 1 },
      reasons: [],
      atMs: this.clock.nowMs(),
      ...over,
    };
    await publishVerdict(this.channel, verdict, { generation: this.#generation() });
  }

  async promise(holderName: string, podUids: readonly string[]): Promise<void> {
    const promise = {
      holderUid: `uid-${holderName}`,
      holderKind: 'NodeClaim',
      holderName,
      podUids,
      admission: { epoch: 1, number: 1 },
      reserved: {},
    } as const;
    await publishPromise(this.channel, promise, { generation: this.#generation() });
  }

  async head(epoch: number, number: number): Promise<void> {
    await publishHead(this.channel, { epoch, number }, { generation: this.#generation() });
  }

  async decide(kind: DecisionKind, over: Partial<Decision> = {}): Promise<void> {
    await publishDecision(this.channel, decisionValue(kind, { atMs: this.clock.nowMs(), ...over }));
  }

  /** The second epoch of a pod-watcher, and a number. */
  #generation(): string {
    this.#tellings += 1;
    return `2.${String(this.#tellings)}`;
  }
}

/** A decision with these fields. */
export const decisionValue = (kind: DecisionKind, over: Partial<Decision> = {}): Decision => ({
  id: `${kind}/one`,
  kind,
  atMs: 0,
  source: 'launcher',
  summary: `${kind} happened`,
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});
