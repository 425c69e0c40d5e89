import { highsSolver, timeBoxed } from '@dovetail/adapter-highs';
import { requestPlan } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { m5Node } from '@dovetail/sim-stage';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';

import type { EnginePort } from './engine-port.js';
import type { Prover } from './proofs.js';
import { SolverStage } from './testing/solver-stage.js';

const highs = highsSolver();
afterAll(() => highs.close());

let stage: SolverStage;
beforeEach(async () => {
  stage = await new SolverStage().begin();
  await stage.basics();
});
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

/** Two of them need an m5.xlarge, of which they would use little more than the half. */
const request = { requests: { cpu: 1_200, pods: 1 } };

/** An m5.xlarge. The quick bound is the price of the share of it that the pods use. */
const price = 192_000;

const quick = { bound: 'aggregate-lp', gap: expect.stringMatching(/^0\.[1-9]/) };

async function pendingPair(): Promise<void> {
  await stage.tell('pod', podValue('a', request));
  await stage.tell('pod', podValue('b', request));
  await stage.batch(['a', 'b']);
}

async function pairToMove(): Promise<void> {
  await stage.tell('node', m5Node('n1'));
  for (const uid of ['a', 'b'])
    await stage.tell('pod', podValue(uid, { ...request, nodeName: 'n1', phase: 'Running' }));
  await stage.advance(50);
  const commit = { nodeName: 'n1', nodeUid: 'node-n1', reason: 'expired' };
  const asked = { podUids: ['a', 'b'], withoutNodes: ['n1'], budgetMs: 100, commit };
  void requestPlan(stage.channel, 'plan', asked, { timeoutMs: 5_000 });
}

test.each<[string, () => Promise<void>]>([
  ['of pending pods', pendingPair],
  ['of a committed replacement', pairToMove],
])(
  'the decision of a plan %s carries the best bound that was proven, and the gap to it',
  async (_what, ask) => {
    const proofs: Promise<unknown>[] = [];
    const around = (engine: EnginePort): EnginePort => ({
      ...engine,
      proveBound: (planId, msMax) => {
        const proof = engine.proveBound(planId, msMax);
        proofs.push(proof);
        return proof;
      },
    });
    stage.solver('one', { around, prover: () => timeBoxed(highs, 60_000) });
    await ask();
    await stage.advance(400);
    expect(stage.plans).toHaveLength(1);
    await Promise.all(proofs);
    await stage.advance(50);
    expect(stage.decisions).toMatchObject([
      {
        kind: 'plan',
        planId: stage.plans[0]?.id,
        priceMicrosPerHour: price,
        lowerBoundMicrosPerHour: price,
        facts: { bound: 'integer-aggregate', gap: '0.0000' },
      },
    ]);
    // Launches do not wait for the proof: the plan went out before it, with its quick bound.
    expect(stage.planOf(0).bound).toMatchObject({ kind: 'aggregate-lp' });
  },
);

test.each<[string, Prover, number]>([
  [
    'a prover that fails',
    () => ({ solve: () => Promise.reject(new Error('no memory is left')) }),
    1,
  ],
  ['a prover that does not answer', () => ({ solve: () => new Promise(() => undefined) }), 0],
])(
  'with %s the decision carries the quick bound, and is not lost',
  async (_what, prover, warned) => {
    stage.solver('one', { prover });
    await pendingPair();
    await stage.advance(2_000);
    expect(stage.decisions).toMatchObject([{ kind: 'plan', facts: quick }]);
    expect(stage.said('bound-unproven')).toHaveLength(warned);
  },
);

test('a solver that stops tells its last plan without waiting for the proof', async () => {
  const stop = stage.solver('one', {
    prover: () => ({ solve: () => new Promise(() => undefined) }),
  });
  await pendingPair();
  await stage.advance(400);
  expect(stage.said('decision-plan')).toEqual([]);
  stop.abort();
  await stage.advance(1);
  expect(stage.said('decision-plan')).toHaveLength(1);
});

test('a proof of zero milliseconds is none', async () => {
  stage.solver('one', {
    config: { boundMs: 0 },
    prover: () => ({ solve: () => Promise.reject(new Error('asked')) }),
  });
  await pendingPair();
  await stage.advance(400);
  expect(stage.decisions).toMatchObject([{ kind: 'plan', facts: quick }]);
  expect(stage.said('bound-unproven')).toEqual([]);
});
