import { noVitals } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { type LoopTurn, tryTurn } from './try-turn.js';

const turn: LoopTurn = {
  loop: 'checks',
  msMax: 1_000,
  failure: 'check-failed',
  what: 'a check failed',
};

/** The means of a turn, and what it did with them. */
function setUp() {
  const did: string[] = [];
  const note = (code: string, message: string): void => void did.push(`${code}: ${message}`);
  const deps = {
    vitals: noVitals,
    metrics: {
      count: (name: string, labels: object = {}) =>
        void did.push(`${name} ${JSON.stringify(labels)}`),
      set: () => undefined,
      observe: () => undefined,
      remove: () => undefined,
    },
    log: { debug: note, info: note, warn: note, error: note },
  };
  return { deps, did };
}

test('a turn answers what its work answers, and tells nothing', async () => {
  const { deps, did } = setUp();
  expect(await tryTurn(deps, turn, () => Promise.resolve(7))).toEqual({ kind: 'done', value: 7 });
  expect(did).toEqual([]);
});

test('a turn that fails is counted and told, and answers the error', async () => {
  const { deps, did } = setUp();
  const error = new Error('refused');
  expect(await tryTurn(deps, turn, () => Promise.reject(error))).toEqual({ kind: 'failed', error });
  expect(did).toEqual([
    'dovetail_loop_failures_total {"loop":"checks"}',
    'check-failed: a check failed: refused; trying again',
  ]);
});
