import { setImmediate, setTimeout } from 'node:timers/promises';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';

import { highsSolver, timeBoxed } from '@dovetail/adapter-highs';
import { type FollowEvent, stackOf } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import { type Done, EngineDesk, SolverEngine } from '@dovetail/service-solver';

import {
  type Answer,
  type Notice,
  type Question,
  sharedOffsetClock,
  type WorkerData,
} from './protocol.js';

// The mirror and the planner run here, off the main thread. The main thread only forwards messages
// and questions.
const { cluster, solver, offset, rules, records } = workerData as WorkerData;
// HiGHS starts with the first proof, in a thread of its own.
const highs = highsSolver({ background: true });
const nowMs = sharedOffsetClock(offset);
const engine = new SolverEngine({
  cluster,
  solver,
  hash: systemHash,
  nowMs,
  planOptions: rules,
  records,
  prover: (msMax) => timeBoxed(highs, msMax),
  pause: async (ms) => setTimeout(ms),
  onMalformed: (malformed) => parentPort?.postMessage({ malformed } satisfies Notice),
});
const desk = new EngineDesk(engine, systemClock, {
  receive: readWaiting,
  between: async () => setImmediate(),
});

parentPort?.on('message', handle);

function handle(question: Question): void {
  switch (question.kind) {
    case 'state':
      return desk.state(inBuffer(question.event));
    case 'catalog':
      return desk.catalog(inBuffer(question.event));
    case 'batch':
      return desk.solveBatch(question.batch, question.budgetMs, replyTo(question.id));
    case 'request':
      return desk.solveRequest(question.request, replyTo(question.id));
    case 'search':
      return void answer(question.id, desk.search(question.request, question.budgetMs));
    case 'gap':
      return void answer(question.id, desk.gap(question.budgetMs, question.boundMs));
    case 'bound':
      return void answer(question.id, engine.proveBound(question.planId, question.msMax));
    case 'record':
      return desk.record(question.planId, replyTo(question.id));
    case 'forget-records':
      return replyTo(question.id).resolve(engine.forgetRecords());
    case 'changed':
      return desk.changed(question.waitMs, () => replyTo(question.id).resolve(undefined));
    case 'debug':
      return replyTo(question.id).resolve(engine.debugState());
  }
}

/** A look at the port takes some microseconds. Two milliseconds are little for a pod to wait. */
const lookEveryMs = 2;
let lookedMs = 0;

/** Reads the messages that have come while this thread planned. */
function readWaiting(): void {
  const now = performance.now();
  if (parentPort === null || now - lookedMs < lookEveryMs) return;
  for (;;) {
    const received = receiveMessageOnPort(parentPort) as { message: Question } | undefined;
    if (received === undefined) break;
    takeIn(received.message);
  }
  lookedMs = performance.now();
}

/**
 * The event with its bytes as a Buffer again, which they are not after the way between threads.
 * protobufjs reads a Buffer faster, and into strings that take less memory.
 */
function inBuffer(event: FollowEvent): FollowEvent {
  if (event.kind !== 'message') return event;
  const { buffer, byteOffset, byteLength } = event.message.payload;
  const payload = Buffer.from(buffer, byteOffset, byteLength);
  return { ...event, message: { ...event.message, payload } };
}

/** An error of the mirror ends the thread, and not only the plan that takes the message in. */
function takeIn(question: Question): void {
  try {
    handle(question);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Posts the answer to a question in the turn in which it is there. */
const replyTo = (id: number): Done<unknown> => ({
  resolve: (value) => post({ id, ok: true, value, ready: engine.ready }),
  reject: (error) => post({ id, ok: false, message: stackOf(error), ready: engine.ready }),
});

const post = (reply: Answer): void => parentPort?.postMessage(reply);

const answer = (id: number, work: Promise<unknown>): Promise<void> => {
  const { resolve, reject } = replyTo(id);
  return work.then(resolve, reject);
};
