import {
  type AdmissionHead,
  type Decision,
  decodePlanMessage,
  followDecisions,
  payloadOf,
  type PendingBatch,
  type PlanMessage,
  type PodPromise,
  publishBatch,
  publishClassCatalog,
  publishHead,
  publishPromise,
  publishState,
  publishUnavailable,
  type StateKind,
  type StateValue,
  streamName,
  subjects,
  type UnavailableOffering,
} from '@dovetail/contracts';
import { nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { noVitals, type Service, Stopper } from '@dovetail/core-ports';
import type { PlanOptions } from '@dovetail/core-scheduling';
import { reportMalformed } from '@dovetail/service-kit';
import { clusterName, hash, m5Types, packing, Stage } from '@dovetail/sim-stage';

import { defaultSolverConfig, type SolverConfig, type SolverDeps } from '../config.js';
import { SolverEngine } from '../engine.js';
import { type EnginePort, inThread } from '../engine-port.js';
import type { Prover } from '../proofs.js';
import { createSolver } from '../solver.js';

/** A stage for solvers. It publishes their input and keeps their output. */
export class SolverStage extends Stage {
  readonly plans: PlanMessage[] = [];
  readonly decisions: Decision[] = [];
  readonly engines: SolverEngine[] = [];
  readonly services: Service[] = [];
  #tellings = 0;
  #rounds = 0;

  override async begin(): Promise<this> {
    await super.begin();
    void this.#keepPlans();
    void this.#keepDecisions();
    return this;
  }

  async #keepDecisions(): Promise<void> {
    for await (const event of followDecisions(this.channel, this.stop.signal))
      if (event.kind === 'decision') this.decisions.push(event.decision);
  }

  async #keepPlans(): Promise<void> {
    const plans = {
      stream: streamName(clusterName, 'plans'),
      filters: [subjects.planAll(clusterName)],
      from: 'first',
    } as const;
    for await (const event of this.bus.follow(plans, this.stop.signal)) {
      const bytes =
        event.kind === 'message' ? await payloadOf(this.channel, event.message) : undefined;
      const read = bytes?.ok === true ? decodePlanMessage(bytes.value) : undefined;
      if (read?.ok === true) this.plans.push(read.value);
    }
  }

  /** The plan at this place, from 0. Throws, with the log, when there are not so many. */
  planOf(index: number): PlanMessage['plan'] {
    const message = this.plans[index];
    if (message === undefined)
      throw new Error(
        `there are ${String(this.plans.length)} plans; log: ${this.log.lines.join('\n')}`,
      );
    return message.plan;
  }

  /** A pool, its class and a catalog of three types. */
  async basics(): Promise<void> {
    await this.tell('nodeclass', nodeClassValue('default'));
    await this.tell('pool', poolValue('default'));
    await this.catalog();
  }

  catalog(revision = 'r1', instanceTypes = m5Types): Promise<void> {
    return publishClassCatalog(
      this.channel,
      { classUid: 'class-default', revision, instanceTypes },
      { generation: String(this.#tellings++) },
    );
  }

  unavailable(offering: UnavailableOffering): Promise<unknown> {
    return publishUnavailable(this.channel, offering, { generation: String(this.#tellings++) });
  }

  async tell<K extends StateKind>(
    kind: K,
    value: Extract<StateValue, { kind: K }>['value'] & { readonly uid: string },
  ): Promise<number> {
    const ack = await publishState(this.channel, {
      kind: 'set',
      uid: value.uid,
      state: { kind, value } as unknown as StateValue,
      generation: `1.${String(this.#tellings++)}`,
    });
    return ack.sequence;
  }

  async gone(stateKind: StateKind, uid: string): Promise<void> {
    await publishState(this.channel, {
      kind: 'gone',
      stateKind,
      uid,
      generation: `1.${String(this.#tellings++)}`,
    });
  }

  async promise(
    holderUid: string,
    podUids: readonly string[],
    room: Partial<Pick<PodPromise, 'reserved' | 'forPodUids'>> = {},
  ): Promise<void> {
    await publishPromise(
      this.channel,
      {
        holderUid,
        holderKind: 'NodeClaim',
        holderName: holderUid,
        podUids,
        admission: { epoch: 1, number: 1 },
        reserved: {},
        ...room,
      },
      { generation: `1.${String(this.#tellings++)}` },
    );
  }

  async head(value: AdmissionHead): Promise<void> {
    await publishHead(this.channel, value, { generation: `1.${String(this.#tellings++)}` });
  }

  /** A batch of these pods. It is cut at the stream's present end unless a position is given. */
  async batch(podUids: readonly string[], change: Partial<PendingBatch> = {}): Promise<void> {
    const position = await this.bus.position(streamName(clusterName, 'state'));
    this.#rounds += 1;
    await publishBatch(this.channel, {
      group: 'g',
      podUids,
      round: `1.${String(this.#rounds)}`,
      statePosition: { incarnation: position.incarnation, sequence: position.lastSequence },
      cutAtMs: this.clock.nowMs(),
      youngestMs: this.clock.nowMs(),
      ...change,
    });
  }

  /** Starts a solver, which runs until the returned controller is aborted. */
  solver(
    name: string,
    options: {
      readonly config?: Partial<SolverConfig>;
      readonly around?: (engine: EnginePort) => EnginePort;
      readonly bus?: SolverDeps['channel']['bus'];
      readonly prover?: Prover;
      readonly planOptions?: Partial<PlanOptions>;
    } = {},
  ): Stopper {
    const stop = new Stopper(this.stop.signal);
    const engine = new SolverEngine({
      cluster: clusterName,
      solver: name,
      hash,
      nowMs: () => this.clock.nowMs(),
      records: true,
      onMalformed: (malformed) => reportMalformed(this, malformed),
      ...(options.prover === undefined ? {} : { prover: options.prover }),
      ...(options.planOptions === undefined ? {} : { planOptions: options.planOptions }),
    });
    this.engines.push(engine);
    const port = inThread(engine, this.clock);
    const channel = this.channelOf('solver');
    const deps = {
      channel: { ...channel, bus: options.bus ?? channel.bus },
      engine: options.around?.(port) ?? port,
      log: this.log,
      metrics: this.metrics,
      vitals: noVitals,
      packing,
    };
    const service = createSolver(deps, { ...defaultSolverConfig, ...options.config });
    this.services.push(service);
    service.run(stop).catch((error: unknown) => this.log.error('died', String(error)));
    return stop;
  }

  /** The number of batches that are not acked yet. */
  async queued(): Promise<number> {
    return (
      await this.bus.lastSequences(
        streamName(clusterName, 'pending'),
        subjects.pendingAll(clusterName),
      )
    ).size;
  }
}
