import {
  type AdmissionNumber,
  catalogEventOf,
  type MalformedMessage,
  type PendingBatch,
  type PlanCause,
  planIdOf,
  type PlanMessage,
  type PlanRequest,
  type SearchReply,
  type SearchRequest,
  stateEventOf,
} from '@dovetail/contracts';
import { poolKey } from '@dovetail/core-api';
import { keepingRoom } from '@dovetail/core-disruption';
import { compareText, isUnplaced, type Pod, uprooted } from '@dovetail/core-kube-model';
import type { DebugState, FollowEvent, Hash } from '@dovetail/core-ports';
import {
  type Bound,
  defaultPlanOptions,
  defaultSizing,
  NotedAnswers,
  plan,
  type PlanInput,
  type PlanOptions,
  sketchOf,
} from '@dovetail/core-scheduling';

import { type MeasuredGap, measuredGap, nothingOf } from './gap.js';
import { Mirror } from './mirror.js';
import { OwnTime } from './own-time.js';
import { type Pause, Proofs, type Prover } from './proofs.js';
import { Records, type RecordSlice } from './records.js';
import { searchOn } from './search.js';
import { opening, snapshotOf } from './snapshot.js';
import { waitingIn } from './waiting.js';

/** The identity and the settings of an engine. */
export type EngineOptions = {
  readonly cluster: string;
  readonly solver: string;
  readonly hash: Hash;
  /**
   * For time-boxes and for offerings that are avoided until a time. Planning itself sees no clock.
   */
  readonly nowMs: () => number;
  readonly planOptions?: Partial<PlanOptions>;
  /** Proves bounds beside planning; absent: plans keep their quick bounds. */
  readonly prover?: Prover;
  /** Waits before a proof, so that the plan is carried out first; absent: proofs begin at once. */
  readonly pause?: Pause;
  /** Whether what plans were made from is kept until it is recorded; absent: it is not. */
  readonly records?: boolean;
  /** Called for each unreadable message of the followed streams. The engine skips it. */
  readonly onMalformed?: (message: MalformedMessage) => void;
};

/**
 * Steps of improving for each pod beyond the first. One pod has nothing to improve, and a small
 * plan needs few steps. More would only use up the time budget.
 */
const stepsPerPod = 100;

/** Within this time after a loss, pod-watcher has published everything again. */
const rebuildMs = 5_000;

/** The reason why there is no plan now. */
type NoPlan =
  | { readonly kind: 'behind' }
  | { readonly kind: 'nothing-pending' }
  | { readonly kind: 'unknown-pods'; readonly podUids: readonly string[] };
/** A plan, or the reason why there is none. */
export type Solved = { readonly kind: 'plan'; readonly message: PlanMessage } | NoPlan;

/** The pods to plan, and the means of the plan. */
type Task = {
  readonly pods: readonly Pod[];
  /** Other pods, which keep the room that they fit in. */
  readonly waiting: readonly Pod[];
  /** Whether a decision tells of the plan, and of its proven bound. */
  readonly isToldOf: boolean;
  /** Whether what it is made from is kept; if absent, it is if a decision tells of it. */
  readonly isRecorded?: boolean;
  readonly without: ReadonlySet<string>;
  readonly cause: PlanCause;
  readonly budgetMs: number;
  readonly priceBelowMicrosPerHour?: number;
  /** The nodes that may take the pods, by name. Absent: all may. */
  readonly open?: ReadonlySet<string>;
  readonly giveWay?: () => void;
};

/**
 * A mirror of the bus, with the planner on it. It takes the messages of the followed streams in
 * order, and solves on demand. It does no I/O, so it can live in a worker thread and be replayed.
 */
export class SolverEngine {
  readonly #mirror = new Mirror();
  readonly #options: EngineOptions;
  readonly #proofs: Proofs;
  readonly #records: Records;
  /**
   * The time of the last loss of the state feed. pod-watcher publishes it again in the seconds
   * after.
   */
  #lostMs = Number.NEGATIVE_INFINITY;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#proofs = new Proofs(options.prover, options.nowMs, options.pause);
    this.#records = new Records(options);
  }

  /** Applies an event of the state feed. */
  state(event: FollowEvent): void {
    if (event.kind === 'reset') this.#lostMs = this.#options.nowMs();
    const seen =
      event.kind === 'message' ? stateEventOf(this.#options.cluster, event.message) : event;
    if (seen.kind === 'malformed') this.#options.onMalformed?.(seen);
    this.#mirror.applyState(seen);
  }

  /** Applies an event of the catalog stream. */
  catalog(event: FollowEvent): void {
    const now = { cluster: this.#options.cluster, nowMs: this.#options.nowMs() };
    const seen = event.kind === 'message' ? catalogEventOf(now, event.message) : event;
    if (seen.kind === 'malformed') this.#options.onMalformed?.(seen);
    if (seen.kind === 'malformed') this.#mirror.countMalformed(`catalog.${seen.field}`);
    this.#mirror.catalog.apply(seen);
  }

  /** Whether both streams have been read to their ends. */
  get ready(): boolean {
    return this.#mirror.ready;
  }

  /** Plans a batch once the mirror has reached the position at which the batch was cut. */
  solveBatch(batch: PendingBatch, budgetMs: number): Solved {
    if (!this.#reached(batch)) return { kind: 'behind' };
    const promised = new Set(
      [...this.#mirror.promises.values()].flatMap((promise) => promise.podUids),
    );
    const pods = batch.podUids
      .flatMap((uid) => this.#mirror.cluster.pods.get(uid) ?? [])
      .filter((pod) => isUnplaced(pod) && !promised.has(pod.uid));
    if (pods.length === 0) return { kind: 'nothing-pending' };
    return this.#solve({
      pods,
      waiting: [],
      isToldOf: true,
      without: new Set(),
      cause: { kind: 'pending', group: batch.group, round: batch.round },
      budgetMs,
    });
  }

  /**
   * Whether the mirror has the state that the batch was cut from. Sequences of a stream that was
   * lost since mean nothing. Then, and while a lost feed is being published again, the mirror must
   * hold the batch's pods.
   */
  #reached(batch: PendingBatch): boolean {
    const mirror = this.#mirror;
    const { cluster } = mirror;
    if (!mirror.ready) return false;
    const same = mirror.position.incarnation === batch.statePosition.incarnation;
    if (same && !mirror.reached(batch.statePosition)) return false;
    const rebuilding = !same || this.#options.nowMs() - this.#lostMs < rebuildMs;
    return (
      !rebuilding ||
      (cluster.pools.size > 0 && batch.podUids.every((uid) => cluster.pods.get(uid) !== undefined))
    );
  }

  /**
   * Plans as if the named nodes were gone and the named pods had to move. Pods that wait keep the
   * room that they fit in, and are no part of the plan. It calls `giveWay` between its steps, in
   * which the engine may plan and take in events.
   */
  solveRequest(request: PlanRequest, giveWay?: () => void): Solved {
    if (!this.#mirror.ready) return { kind: 'behind' };
    const { pods: known } = this.#mirror.cluster;
    const missing = request.podUids.filter((uid) => known.get(uid) === undefined);
    if (missing.length > 0) return { kind: 'unknown-pods', podUids: missing };
    const pods = request.podUids.flatMap((uid) => known.get(uid) ?? []).map(uprooted);
    const about = request.commit ?? {
      nodeName: request.withoutNodes.join(',') || 'none',
      nodeUid: 'what-if',
      reason: 'what-if',
    };
    return this.#solve({
      pods,
      waiting: waitingIn(this.#mirror, new Set(request.podUids)),
      isToldOf: request.commit !== undefined,
      isRecorded: request.commit !== undefined || request.isRecorded === true,
      without: new Set(request.withoutNodes),
      cause: { kind: 'replacement', ...about },
      budgetMs: request.budgetMs,
      ...(giveWay === undefined ? {} : { giveWay }),
      ...(request.openNodes === undefined ? {} : { open: new Set(request.openNodes) }),
      ...(request.maxPriceMicrosPerHour === undefined
        ? {}
        : { priceBelowMicrosPerHour: request.maxPriceMicrosPerHour }),
    });
  }

  #solve(task: Task): Solved {
    const time = new OwnTime(this.#options.nowMs, task.giveWay);
    const startedMs = this.#options.nowMs();
    // The mirror may go on while the plan gives way.
    const admissionSeen: AdmissionNumber = this.#mirror.admission;
    const { incarnation, sequence } = this.#mirror.position;
    const known = snapshotOf(this.#mirror, {
      ...task,
      moving: new Set(task.pods.map((pod) => pod.uid)),
      nowMs: startedMs,
    });
    const options = this.#planOptions(task, time);
    const noted = new NotedAnswers(options.shouldStop);
    const pods = task.pods.toSorted((a, b) => compareText(a.uid, b.uid));
    // Pods that wait may go to any node, so they do not crowd the nodes that are open.
    const snapshot = opening(keepingRoom(known, task.waiting, options).snapshot, task.open);
    const made = plan(snapshot, pods, { ...options, shouldStop: noted.shouldStop });
    const draft = {
      cause: task.cause,
      plan: made,
      statePosition: { incarnation, sequence },
      admissionSeen,
      createdMs: this.#options.nowMs(),
      solver: this.#options.solver,
      solveMs: time.spentMs(),
    };
    const id = planIdOf(this.#options.hash, draft);
    // The proof runs beside other work, in no lane, so it must not give way.
    const { giveWay: _, shouldStop: __, ...rules } = options;
    const planned = { snapshot, pods, options: rules };
    const { isToldOf, isRecorded = isToldOf } = task;
    if (isToldOf) this.#proofs.keep({ planId: id, plan: made, planned });
    if (isRecorded) this.#keepRecord({ id, ...draft }, { ...planned, answers: noted.answers });
    return { kind: 'plan', message: { id, ...draft } };
  }

  #keepRecord({ plan: made, ...origin }: PlanMessage, input: PlanInput): void {
    if (this.#options.records === true) this.#records.keep(origin, { input, made: sketchOf(made) });
  }

  #planOptions(
    task: Pick<Task, 'pods' | 'open' | 'budgetMs'>,
    time: OwnTime,
  ): PlanOptions & Required<Pick<PlanOptions, 'shouldStop'>> {
    return {
      ...defaultPlanOptions,
      ...defaultSizing,
      stepsMax: Math.max(0, task.pods.length - 1) * stepsPerPod,
      ...(task.open === undefined ? {} : { existingNodes: 'filled' }),
      ...this.#options.planOptions,
      ...time.options(task.budgetMs),
    };
  }

  /**
   * Searches for nodes to give up, within `budgetMs`. It yields before each plan, and calls
   * `giveWay` between the steps of one, so that batches are planned in between. Undefined: the
   * mirror is not complete yet.
   */
  search(
    request: SearchRequest,
    budgetMs: number,
    giveWay?: () => void,
  ): Generator<undefined, SearchReply> | undefined {
    if (!this.#mirror.ready) return undefined;
    const { nowMs, planOptions = {} } = this.#options;
    const options = { ...defaultPlanOptions, ...defaultSizing, ...planOptions };
    return searchOn(this.#mirror, request, { options, budgetMs, nowMs, giveWay });
  }

  /**
   * Compares the price of the nodes with claims with that of a plan from nothing for their pods,
   * which is improved for at most `budgetMs`. It calls `giveWay` between the steps of the plan.
   * Undefined: the mirror is not complete yet.
   */
  gap(budgetMs: number, giveWay?: () => void): MeasuredGap | undefined {
    if (!this.#mirror.ready) return undefined;
    const { nowMs } = this.#options;
    const time = new OwnTime(nowMs, giveWay);
    const nothing = nothingOf(this.#mirror, nowMs(), time.options(budgetMs).giveWay);
    return measuredGap(nothing, this.#planOptions({ ...nothing, budgetMs }, time), time);
  }

  /**
   * Returns the best bound of a plan from nothing that is proven in this time, in milliseconds. It
   * calls `giveWay` while it reads the pods. Undefined if there is no prover or no time. Rejects if
   * the prover fails.
   */
  boundOfGap(
    { plan: made, planned }: MeasuredGap,
    msMax: number,
    giveWay?: () => void,
  ): Promise<Bound | undefined> {
    const options = { ...planned.options, ...(giveWay === undefined ? {} : { giveWay }) };
    return this.#proofs.boundOf({ plan: made, planned: { ...planned, options } }, msMax);
  }

  /**
   * Returns the best bound of the newest plan that is proven in this time, in milliseconds.
   * Undefined if there is no prover, no time, or the plan is not the newest. Rejects if the prover
   * fails.
   */
  proveBound(planId: string, msMax: number): Promise<Bound | undefined> {
    return this.#proofs.prove(planId, msMax);
  }

  /** The next slice of what a plan was made from. Undefined: it is not kept. */
  record(planId: string): RecordSlice | undefined {
    return this.#records.slice(planId);
  }

  /** The kept parts are lost: the next record writes all of them. */
  forgetRecords(): void {
    this.#records.forget();
  }

  /** The state of the engine, in numbers. */
  debugState(): DebugState {
    const mirror = this.#mirror;
    const { cluster, catalog } = mirror;
    return {
      position: mirror.position,
      admission: mirror.admission,
      ready: mirror.ready,
      malformed: Object.fromEntries(mirror.malformed),
      pods: cluster.pods.size,
      nodes: cluster.nodes.size,
      claims: cluster.claims.size,
      pools: [...cluster.pools.values()].map((pool) => poolKey(pool.identity)),
      classes: [...cluster.nodeClasses.values()].map((each) => ({
        ref: each.ref,
        ready: each.ready,
        types: catalog.of(each.uid)?.types.length ?? 0,
      })),
      promises: mirror.promises.size,
      unavailable: catalog.unavailableCount,
    };
  }
}
