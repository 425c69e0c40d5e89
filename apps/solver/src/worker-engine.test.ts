import { createVitals, type ProcessVitals } from '@dovetail/runtime';
import { afterEach, describe, expect, test, vi } from 'vitest';

import { type WorkerEngine, workerEngine } from './worker-engine.js';

const rules = {} as Parameters<typeof workerEngine>[0]['rules'];
let engine: WorkerEngine | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await engine?.close();
});

/** An engine whose thread runs this code, with what it logs, and the time that its vitals see. */
function begin(code: string): {
  readonly engine: WorkerEngine;
  readonly vitals: ProcessVitals;
  readonly errors: readonly string[];
  readonly at: (ms: number) => void;
} {
  let nowMs = 0;
  const errors: string[] = [];
  const quiet = (): void => undefined;
  const vitals = createVitals({ nowMs: () => nowMs, metrics: { set: quiet } });
  engine = workerEngine({
    file: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    cluster: 'lab',
    solver: 'solver-0',
    rules,
    records: false,
    clock: { nowMs: () => Date.now(), sleep: () => new Promise(quiet) },
    log: { debug: quiet, info: quiet, warn: quiet, error: (name) => void errors.push(name) },
    onMalformed: quiet,
    vitals,
  });
  return { engine, vitals, errors, at: (ms) => (nowMs = ms) };
}

const until = async (look: () => boolean): Promise<void> => {
  while (!look()) await new Promise((resolve) => void setTimeout(resolve, 5));
};

describe('the planning thread', () => {
  test('that answers nothing makes the process dead to its probe, so that it is replaced', () => {
    const { engine: own, vitals, at } = begin('setInterval(() => undefined, 1_000);');
    void own.changed(1_000);
    at(120_000);
    expect(vitals.hung()).toEqual([]);
    at(120_001);
    expect(vitals.hung()).toEqual(['planning-thread']);
  });

  test('that answers keeps it alive, and says whether it can plan', async () => {
    const {
      engine: own,
      vitals,
      at,
    } = begin(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', ({ id }) => parentPort.postMessage({ id, ok: true, value: {}, ready: true }));
    `);
    await own.changed(1_000);
    at(1_000_000);
    // The thread is asked for its state all the time, so that a question may be open just now.
    await until(() => vitals.hung().length === 0);
    expect(own.ready()).toBe(true);
  });

  test('that dies ends the process, and leaves nobody waiting for its answers', async () => {
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => true);
    const { engine: own, errors } = begin(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', () => { throw new Error('out of memory'); });
    `);
    const asked = own.changed(1_000);
    await expect(asked).rejects.toThrow('the planning thread died');
    await until(() => kill.mock.calls.length > 0);
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']]);
    expect([errors, process.exitCode]).toEqual([['worker-died'], 1]);
    await expect(own.changed(1_000)).rejects.toThrow('the planning thread died');
    process.exitCode = undefined;
  });
});
