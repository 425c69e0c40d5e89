import { Worker } from 'node:worker_threads';
import type { Clock, Log } from '@dovetail/core-ports';
import type { EnginePort, Solved } from '@dovetail/service-solver';
import type { Answer, Question } from './protocol.js';

type Asked = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

/** The engine in a worker thread. Should the thread die, so does the process: its mirror would be lost, and a supervisor starts it anew. */
export function workerEngine(options: { readonly file: URL; readonly cluster: string; readonly solver: string; readonly clock: Clock; readonly log: Log }): EnginePort & { debugState(): Promise<unknown>; lastState(): unknown; close(): Promise<void> } {
  const offset = new SharedArrayBuffer(4);
  const seconds = new Int32Array(offset);
  const followOffset = setInterval(() => Atomics.store(seconds, 0, Math.round((options.clock.nowMs() - Date.now()) / 1_000)), 100);
  followOffset.unref();
  const worker = new Worker(options.file, { workerData: { cluster: options.cluster, solver: options.solver, offset } });
  const asked = new Map<number, Asked>();
  let next = 0;
  let ready = false;
  let lastState: unknown = {};
  worker.on('message', (reply: Answer) => {
    ready = reply.ready;
    const waiting = asked.get(reply.id);
    asked.delete(reply.id);
    if (reply.ok) waiting?.resolve(reply.value);
    else waiting?.reject(new Error(reply.message));
  });
  worker.on('error', (error) => {
    options.log.error('worker-died', `the planning thread died: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
    process.kill(process.pid, 'SIGTERM');
  });
  const tell = (question: Question): void => worker.postMessage(question);
  const ask = (question: (id: number) => Question): Promise<unknown> => new Promise((resolve, reject) => {
    const id = next++;
    asked.set(id, { resolve, reject });
    tell(question(id));
  });
  const debugState = async (): Promise<unknown> => (lastState = await ask((id) => ({ kind: 'debug', id })));
  // Readiness is the worker's to know: asked for regularly, for /readyz must answer at once.
  const asking = setInterval(() => void debugState().catch(() => undefined), 250);
  asking.unref();
  return {
    state: (event) => tell({ kind: 'state', event }),
    catalog: (event) => tell({ kind: 'catalog', event }),
    solveBatch: async (batch, budgetMs) => (await ask((id) => ({ kind: 'batch', id, batch, budgetMs }))) as Solved,
    solveRequest: async (request) => (await ask((id) => ({ kind: 'request', id, request }))) as Solved,
    // A short wait instead of a wake-up: the mirror changes in the other thread.
    changed: (waitMs) => new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, 5))),
    ready: () => ready,
    debugState,
    lastState: () => lastState,
    async close() {
      clearInterval(asking);
      clearInterval(followOffset);
      await worker.terminate();
    },
  };
}
