import type { PendingBatch, PlanRequest } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { m5Node } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import type { Solved, SolverEngine } from './engine.js';
import { EngineDesk } from './engine-desk.js';
import type { Done } from './lanes.js';
import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;

beforeEach(async () => {
  stage = await new SolverStage().begin();
});

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

/** An engine over a node with four pods, and a pod that waits. */
async function engineOfFive(
  options: Parameters<SolverStage['solver']>[1] = {},
): Promise<SolverEngine> {
  await stage.basics();
  await stage.tell('node', m5Node('n1'));
  const bound = { nodeName: 'n1', phase: 'Running', unschedulable: false } as const;
  for (const uid of pods)
    await stage.tell('pod', podValue(uid, { ...bound, requests: { cpu: 1_500, pods: 1 } }));
  await stage.tell('pod', podValue('waits'));
  stage.solver('one', options);
  await stage.advance(50);
  const [engine] = stage.engines;
  if (engine === undefined) throw new Error('a solver has an engine');
  return engine;
}

const pods = ['a', 'b', 'c', 'd'];
const whatIf: PlanRequest = { podUids: pods, withoutNodes: ['n1'], budgetMs: 100 };
const batch = (): PendingBatch => ({
  group: 'g',
  podUids: ['waits'],
  round: '1.1',
  statePosition: { incarnation: '', sequence: 0 },
  cutAtMs: 0,
  youngestMs: 0,
});

/** Notes answers under a name, in the order in which they come. */
function notes(): {
  readonly order: string[];
  readonly plans: Map<string, unknown>;
  readonly as: (name: string) => Done<Solved>;
} {
  const order: string[] = [];
  const plans = new Map<string, unknown>();
  const as = (name: string): Done<Solved> => ({
    resolve: (solved) => {
      order.push(name);
      plans.set(name, solved.kind === 'plan' ? solved.message.plan : solved);
    },
    reject: (error) => void order.push(`${name}: ${String(error)}`),
  });
  return { order, plans, as };
}

test('a plan under way answers a batch at its next step, and is the same plan', async () => {
  const engine = await engineOfFive();
  const alone = notes();
  let steps = 0;
  const calm = new EngineDesk(engine, stage.clock, { receive: () => (steps += 1) });
  calm.solveRequest(whatIf, alone.as('what-if'));
  expect(steps).toBeGreaterThan(20);
  // At its first steps, in the middle, and at the last.
  for (const at of [2, 3, 4, Math.floor(steps / 2), steps]) {
    const both = notes();
    let step = 0;
    const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
      receive: () => {
        step += 1;
        if (step === at) desk.solveBatch(batch(), 100, both.as('batch'));
      },
    });
    desk.solveRequest(whatIf, both.as('what-if'));
    expect(both.order).toEqual(['batch', 'what-if']);
    expect(both.plans.get('what-if')).toEqual(alone.plans.get('what-if'));
    expect(both.plans.get('batch')).toMatchObject({ placements: [{ podUids: ['waits'] }] });
  }
});

test('the bound of a batch can be proven, though its plan interrupted a what-if', async () => {
  // A proof that begins asks for a solver.
  let proofs = 0;
  const solve = () => Promise.reject(new Error('not reached'));
  const prover = () => ((proofs += 1), { solve });
  const engine = await engineOfFive({ prover });
  let step = 0;
  const ids: string[] = [];
  const note = (solved: Solved): void =>
    void ids.push(solved.kind === 'plan' ? solved.message.id : solved.kind);
  const done = { resolve: note, reject: () => undefined };
  const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
    receive: () => {
      step += 1;
      if (step === 3) desk.solveBatch(batch(), 100, done);
    },
  });
  desk.solveRequest(whatIf, done);
  const [ofBatch = '', ofWhatIf = ''] = ids;
  await engine.proveBound(ofWhatIf, 1_000);
  expect(proofs).toBe(0);
  await engine.proveBound(ofBatch, 1_000);
  expect(proofs).toBe(1);
});

test('a plan says what it saw when it began, though events are taken in meanwhile', async () => {
  const engine = await engineOfFive();
  const before = engine.debugState();
  const seen: Solved[] = [];
  let step = 0;
  const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
    receive: () => {
      step += 1;
      if (step === 3)
        desk.state({ kind: 'caught-up', position: { incarnation: 'later', lastSequence: 9_999 } });
    },
  });
  const [resolve, reject] = [(solved: Solved) => void seen.push(solved), () => undefined];
  desk.solveRequest(whatIf, { resolve, reject });
  const { incarnation, sequence } = before['position'] as {
    readonly incarnation: string;
    readonly sequence: number;
  };
  expect(seen).toMatchObject([{ message: { statePosition: { incarnation, sequence } } }]);
  expect(engine.debugState()['position']).toMatchObject({ incarnation: 'later' });
});

test('who waits for a change is told of it while a plan is under way', async () => {
  const engine = await engineOfFive();
  const both = notes();
  let step = 0;
  const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
    receive: () => {
      step += 1;
      if (step === 2) desk.changed(1_000, () => both.order.push('changed'));
      if (step === 4)
        desk.state({ kind: 'caught-up', position: { incarnation: '', lastSequence: 9_999 } });
    },
  });
  desk.solveRequest(whatIf, both.as('what-if'));
  expect(both.order).toEqual(['changed', 'what-if']);
});

test('who waits for a change that does not come is answered after the time', async () => {
  const engine = await engineOfFive();
  const desk = new EngineDesk(engine, stage.clock);
  let answers = 0;
  desk.changed(1_000, () => (answers += 1));
  await stage.advance(999);
  expect(answers).toBe(0);
  await stage.advance(2);
  expect(answers).toBe(1);
});
