import { setImmediate, setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

import { highsSolver, timeBoxed } from '@dovetail/adapter-highs';
import { type FollowEvent, stackOf } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import { inThread, SolverEngine } from '@dovetail/service-solver';

import {
  type Answer,
  type Notice,
  type Question,
  sharedOffsetClock,
  type WorkerData,
} from './protocol.js';

// The mirror and the planner run here, off the main thread. The main thread only forwards messages
// and questions.
const { cluster, solver, offset, rules } = workerData as WorkerData;
// HiGHS starts with the first proof, in a thread of its own.
const highs = highsSolver({ background: true });
const nowMs = sharedOffsetClock(offset);
const engine = new SolverEngine({
  cluster,
  solver,
  hash: systemHash,
  nowMs,
  planOptions: rules,
  prover: (msMax) => timeBoxed(highs, msMax),
  pause: async (ms) => setTimeout(ms),
  onMalformed: (malformed) => parentPort?.postMessage({ malformed } satisfies Notice),
});
// Questions that have come meanwhile are read in the turn of the event loop between two plans.
const port = inThread(engine, systemClock, async () => setImmediate());

parentPort?.on('message', (question: Question) => {
  switch (question.kind) {
    case 'state':
      return port.state(inBuffer(question.event));
    case 'catalog':
      return port.catalog(inBuffer(question.event));
    case 'batch':
      return void answer(question.id, () => port.solveBatch(question.batch, question.budgetMs));
    case 'request':
      return void answer(question.id, () => port.solveRequest(question.request));
    case 'search':
      return void answer(question.id, () => port.search(question.request, question.budgetMs));
    case 'bound':
      return void answer(question.id, () => port.proveBound(question.planId, question.msMax));
    case 'changed':
      return void answer(question.id, () => port.changed(question.waitMs));
    case 'debug':
      return void answer(question.id, () => Promise.resolve(engine.debugState()));
  }
});

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

async function answer(id: number, work: () => Promise<unknown>): Promise<void> {
  let reply: Answer;
  try {
    reply = { id, ok: true, value: await work(), ready: engine.ready };
  } catch (error) {
    reply = { id, ok: false, message: stackOf(error), ready: engine.ready };
  }
  parentPort?.postMessage(reply);
}
