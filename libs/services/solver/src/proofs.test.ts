import { defaultPlanOptions, plan } from '@dovetail/core-scheduling';
import { snapshotOf } from '@dovetail/core-scheduling/testing';
import { expect, test } from 'vitest';

import { Proofs } from './proofs.js';

const planned = { snapshot: snapshotOf(), pods: [], options: defaultPlanOptions };
const made = plan(planned.snapshot, planned.pods, planned.options);

test('of proofs that are asked for at once, one runs, one waits, and the others are left out', async () => {
  const times: number[] = [];
  const prover = (msMax: number) => {
    times.push(msMax);
    return { solve: () => Promise.reject(new Error('not reached')) };
  };
  const proofs = new Proofs(prover, () => 0);
  const prove = (planId: string, msMax: number) => {
    proofs.keep({ planId, plan: made, planned });
    return proofs.prove(planId, msMax);
  };
  await Promise.all([1, 2, 3, 4].map((ms) => prove(`plan-${ms}`, ms)));
  expect(times).toEqual([1, 2]);
  await prove('plan-5', 5);
  expect(times).toEqual([1, 2, 5]);
});

test.each([
  [1_000, 300, 700],
  [100, 30, 70],
  [60_000, 300, 59_700],
])(
  'of %d ms, the plan is carried out for %d ms before its proof begins',
  async (msMax, paused, left) => {
    let nowMs = 0;
    const times: number[] = [];
    const prover = (ms: number) => {
      times.push(ms);
      return { solve: () => Promise.reject(new Error('not reached')) };
    };
    const proofs = new Proofs(
      prover,
      () => nowMs,
      (ms) => {
        nowMs += ms;
        return Promise.resolve();
      },
    );
    proofs.keep({ planId: 'plan', plan: made, planned });
    await proofs.prove('plan', msMax);
    expect({ nowMs, times }).toEqual({ nowMs: paused, times: [left] });
  },
);
