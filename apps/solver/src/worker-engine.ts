import { Worker } from 'node:worker_threads';

import type { MalformedMessage } from '@dovetail/contracts';
import { type Clock, type DebugState, type Log, stackOf, type Vitals } from '@dovetail/core-ports';
import type { Bound } from '@dovetail/core-scheduling';
import type { EnginePort, Measured, RecordSlice, Searched, Solved } from '@dovetail/service-solver';

import type { Answer, Notice, Question, WorkerData } from './protocol.js';
import type { PlanRules } from './settings.js';

/**
 * A thread that answers nothing for longer is hung: each plan is bounded by a budget of seconds.
 */
const answerMsMax = 120_000;

type Asked = {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
};

/** The thread's code, the names that it plans under, and what the main thread does for it. */
export type WorkerOptions = {
  readonly file: URL;
  readonly cluster: string;
  readonly solver: string;
  readonly rules: PlanRules;
  readonly records: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly onMalformed: (message: MalformedMessage) => void;
  /** Watches over the thread: a thread that answers nothing is hung. */
  readonly vitals: Vitals;
};

/** An engine whose thread ends with `close`. */
export type WorkerEngine = EnginePort & { close(): Promise<void> };

/**
 * The engine in a worker thread. If the thread dies, the process ends too: the mirror is lost, and
 * a supervisor starts the process again.
 */
export function workerEngine(options: WorkerOptions): WorkerEngine {
  const { offset, release } = sharedOffset(options.clock);
  const { cluster, solver, rules, records } = options;
  const workerData: WorkerData = { cluster, solver, offset, rules, records };
  const worker = new Worker(options.file, { workerData });
  const line = new QuestionLine(worker, options);
  // Only the worker knows whether it is ready. It is asked regularly, because /readyz must answer
  // at once.
  const asking = setInterval(() => void line.refresh(), 250);
  asking.unref();
  let exploring = 0;
  const explore = async (question: (id: number) => Question): Promise<unknown> => {
    exploring += 1;
    return line.ask(question).finally(() => (exploring -= 1));
  };
  return {
    state: (event) => line.tell({ kind: 'state', event }),
    catalog: (event) => line.tell({ kind: 'catalog', event }),
    solveBatch: async (batch, budgetMs) =>
      (await line.ask((id) => ({ kind: 'batch', id, batch, budgetMs }))) as Solved,
    solveRequest: async (request) =>
      (await explore((id) => ({ kind: 'request', id, request }))) as Solved,
    search: async (request, budgetMs) =>
      (await explore((id) => ({ kind: 'search', id, request, budgetMs }))) as Searched,
    gap: async (budgetMs, boundMs) =>
      (await explore((id) => ({ kind: 'gap', id, budgetMs, boundMs }))) as Measured,
    proveBound: async (planId, msMax) =>
      (await line.ask((id) => ({ kind: 'bound', id, planId, msMax }))) as Bound | undefined,
    record: async (planId) =>
      (await line.ask((id) => ({ kind: 'record', id, planId }))) as RecordSlice | undefined,
    forgetRecords: async () => void (await line.ask((id) => ({ kind: 'forget-records', id }))),
    changed: async (waitMs) => void (await line.ask((id) => ({ kind: 'changed', id, waitMs }))),
    exploring: () => exploring > 0,
    ready: () => line.ready,
    debugState: () => line.lastState,
    async close() {
      clearInterval(asking);
      release();
      await worker.terminate();
    },
  };
}

/** The test clock's offset, which the worker can read without a message. */
function sharedOffset(clock: Clock): {
  readonly offset: SharedArrayBuffer;
  readonly release: () => void;
} {
  const offset = new SharedArrayBuffer(4);
  const seconds = new Int32Array(offset);
  const follow = setInterval(
    () => Atomics.store(seconds, 0, Math.round((clock.nowMs() - Date.now()) / 1_000)),
    100,
  );
  follow.unref();
  return { offset, release: () => clearInterval(follow) };
}

/** Questions to the worker and their answers. */
class QuestionLine {
  ready = false;
  lastState: DebugState = {};
  readonly #worker: Worker;
  readonly #asked = new Map<number, Asked>();
  readonly #vitals: Vitals;
  #next = 0;
  #refreshing = false;
  /** Why there are no answers any more. */
  #dead: Error | undefined;
  /** Ends the turn that waits for the next answer. */
  #heard: () => void = () => undefined;

  constructor(
    worker: Worker,
    { log, onMalformed, vitals }: Pick<WorkerOptions, 'log' | 'onMalformed' | 'vitals'>,
  ) {
    this.#worker = worker;
    this.#vitals = vitals;
    worker.on('message', (message: Answer | Notice) =>
      'malformed' in message ? onMalformed(message.malformed) : this.#hear(message),
    );
    worker.on('error', (error) => {
      log.error('worker-died', `the planning thread died: ${stackOf(error)}`);
      this.#rejectAll(new Error('the planning thread died', { cause: error }));
      process.exitCode = 1;
      process.kill(process.pid, 'SIGTERM');
    });
  }

  tell(question: Question): void {
    this.#worker.postMessage(question);
  }

  ask(question: (id: number) => Question): Promise<unknown> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#asked.set(id, { resolve, reject });
      this.tell(question(id));
      if (this.#asked.size === 1) this.#awaitAnswer();
    });
  }

  /** Asks for the state, one question at a time: a thread that plans answers after its plan. */
  async refresh(): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    try {
      this.lastState = (await this.ask((id) => ({ kind: 'debug', id }))) as DebugState;
    } catch {
      // The state that was known before is the best there is.
    } finally {
      this.#refreshing = false;
    }
  }

  /** One turn from answer to answer: many questions may wait, but the thread must go on. */
  #awaitAnswer(): void {
    const heard = new Promise<void>((resolve) => (this.#heard = resolve));
    void this.#vitals.turn('planning-thread', answerMsMax, () => heard);
  }

  /** A question to a dead thread would wait for ever, and its batch with it. */
  #rejectAll(error: Error): void {
    this.#dead = error;
    this.#heard();
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
  }

  #hear(reply: Answer): void {
    this.ready = reply.ready;
    const waiting = this.#asked.get(reply.id);
    this.#asked.delete(reply.id);
    this.#heard();
    if (this.#asked.size > 0) this.#awaitAnswer();
    if (reply.ok) waiting?.resolve(reply.value);
    else waiting?.reject(new Error(reply.message));
  }
}
