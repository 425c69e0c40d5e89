import { parentPort, workerData } from 'node:worker_threads';
import { systemHash } from '@dovetail/runtime';
import { SolverEngine } from '@dovetail/service-solver';
import { type Answer, type Question, sharedOffsetClock, type WorkerData } from './protocol.js';

// The mirror and the planner live here, off the main thread: it only forwards what the bus delivers and asks.
const { cluster, solver, offset } = workerData as WorkerData;
const nowMs = sharedOffsetClock(offset);
const engine = new SolverEngine({ cluster, solver, hash: systemHash, nowMs });

parentPort?.on('message', (question: Question) => {
  switch (question.kind) {
    case 'state': return engine.state(question.event);
    case 'catalog': return engine.catalog(question.event);
    case 'batch': return answer(question.id, () => engine.solveBatch(question.batch, question.budgetMs));
    case 'request': return answer(question.id, () => engine.solveRequest(question.request));
    case 'debug': return answer(question.id, () => engine.debugState());
  }
});

function answer(id: number, work: () => unknown): void {
  let reply: Answer;
  try {
    reply = { id, ok: true, value: work(), ready: engine.ready };
  } catch (error) {
    reply = { id, ok: false, message: error instanceof Error ? (error.stack ?? error.message) : String(error), ready: engine.ready };
  }
  parentPort?.postMessage(reply);
}
