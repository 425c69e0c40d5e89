import { podValue } from '@dovetail/core-kube-model/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { EnginePort } from './engine-port.js';
import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;

beforeEach(async () => {
  stage = await new SolverStage().begin();
});

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

const exploring = {
  around: (engine: EnginePort): EnginePort => ({ ...engine, exploring: () => true }),
};

describe('a batch that a solver takes during a what-if or a search', () => {
  test.each<[string, readonly string[], string]>([
    ['goes to a solver that is idle', ['busy', 'idle'], 'idle'],
    ['is planned all the same if no solver is idle', ['busy'], 'busy'],
  ])('%s', async (_what, solvers, planner) => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    for (const name of solvers) stage.solver(name, name === 'busy' ? exploring : {});
    await stage.advance(10);
    await stage.batch(['a']);
    await stage.advance(20);
    expect(stage.plans.map(({ solver }) => solver)).toEqual([planner]);
    expect(await stage.queued()).toBe(0);
  });
});

test('a solver that found no idle one passes no batch on for a second', async () => {
  await stage.basics();
  for (const uid of ['a', 'b', 'c']) await stage.tell('pod', podValue(uid));
  stage.solver('busy', exploring);
  await stage.advance(10);
  const plansAfter = async (uid: string, ms: number): Promise<number> => {
    await stage.batch([uid], { group: uid });
    await stage.advance(ms);
    return stage.plans.length;
  };
  expect(await plansAfter('a', 20)).toBe(1);
  expect(await plansAfter('b', 5)).toBe(2);
  await stage.advance(1_000);
  expect(await plansAfter('c', 5)).toBe(2);
  await stage.advance(10);
  expect(stage.plans.length).toBe(3);
});

test('an engine explores from the question to the answer', async () => {
  await stage.basics();
  await stage.tell('pod', podValue('a'));
  const ports: EnginePort[] = [];
  const around = (engine: EnginePort): EnginePort => (ports.push(engine), engine);
  stage.solver('one', { around });
  await stage.advance(50);
  const [port] = ports;
  const answer = port?.solveRequest({ podUids: ['a'], withoutNodes: [], budgetMs: 100 });
  expect(port?.exploring()).toBe(true);
  await answer;
  expect(port?.exploring()).toBe(false);
});
