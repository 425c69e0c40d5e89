import { type PlanRequest, requestPlan } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { m5Node } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;

beforeEach(async () => {
  stage = await new SolverStage().begin();
});

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

describe('a what-if request', () => {
  const ask = async (request: Partial<PlanRequest>): ReturnType<typeof requestPlan> => {
    const answer = requestPlan(
      stage.channel,
      'plan',
      { podUids: [], withoutNodes: [], budgetMs: 100, ...request },
      { timeoutMs: 5_000 },
    );
    await stage.advance(3_000);
    return answer;
  };

  test("plans a node's pods as if it were gone, and commits to it only when asked", async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    await stage.tell(
      'pod',
      podValue('a', { nodeName: 'n1', phase: 'Running', unschedulable: false }),
    );
    stage.solver('one');
    await stage.advance(50);
    const dry = await ask({ podUids: ['a'], withoutNodes: ['n1'] });
    expect(dry).toMatchObject({
      ok: true,
      reply: { plan: { newNodes: [{ podUids: ['a'] }], placements: [], unplaced: [] } },
    });
    expect(stage.plans).toEqual([]);
    const wet = await ask({
      podUids: ['a'],
      withoutNodes: ['n1'],
      commit: { nodeName: 'n1', nodeUid: 'node-n1', reason: 'expired' },
    });
    expect(stage.plans).toMatchObject([
      {
        id: wet.ok ? wet.reply.planId : '',
        cause: { kind: 'replacement', nodeName: 'n1', nodeUid: 'node-n1', reason: 'expired' },
      },
    ]);
  });

  test('plans the pods of several nodes at once, leaves out what is gone, and says which nodes it replaces', async () => {
    await stage.basics();
    const nodes = ['n1', 'n2', 'n3'];
    for (const name of nodes) await stage.tell('node', m5Node(name));
    for (const [uid, nodeName] of Object.entries({ a: 'n1', b: 'n2', c: 'n3' }))
      await stage.tell('pod', podValue(uid, { nodeName, phase: 'Running', unschedulable: false }));
    stage.solver('one');
    await stage.advance(50);
    const node = (name: string) => ({ nodeName: name, nodeUid: `node-${name}` });
    const commit = { ...node('n1'), reason: 'interrupted', others: [node('n2'), node('n3')] };
    const answer = await ask({ podUids: ['a', 'b', 'c', 'gone'], withoutNodes: nodes, commit });
    expect(answer).toMatchObject({
      ok: true,
      reply: { plan: { newNodes: [{ podUids: ['a', 'b', 'c'] }], placements: [], unplaced: [] } },
    });
    expect(stage.plans.map(({ cause }) => cause)).toEqual([{ kind: 'replacement', ...commit }]);
  });

  test('explores the pods of several nodes without one that is just gone', async () => {
    await stage.basics();
    for (const name of ['n1', 'n2']) await stage.tell('node', m5Node(name));
    for (const [uid, nodeName] of Object.entries({ a: 'n1', b: 'n2' }))
      await stage.tell('pod', podValue(uid, { nodeName, phase: 'Running', unschedulable: false }));
    stage.solver('one');
    await stage.advance(50);
    const answer = await ask({ podUids: ['a', 'b', 'gone'], withoutNodes: ['n1', 'n2'] });
    expect(answer).toMatchObject({
      ok: true,
      reply: { plan: { newNodes: [{ podUids: ['a', 'b'] }], unplaced: [] } },
    });
    expect(stage.plans).toEqual([]);
  });

  test('a price may be named that every option must undercut', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.advance(50);
    expect(await ask({ podUids: ['a'], maxPriceMicrosPerHour: 96_000 })).toMatchObject({
      ok: true,
      reply: { plan: { newNodes: [], unplaced: [{ podUid: 'a' }] } },
    });
    expect(await ask({ podUids: ['a'], maxPriceMicrosPerHour: 96_001 })).toMatchObject({
      ok: true,
      reply: { plan: { newNodes: [{ podUids: ['a'] }] } },
    });
  });

  test('is held to the longest budget that a solver gives, and told apart from batches by its wait', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    const budgets: number[] = [];
    stage.solver('one', {
      config: { requestBudgetMaxMs: 500 },
      around: (engine) => ({
        ...engine,
        solveRequest: async (request) => {
          budgets.push(request.budgetMs);
          await stage.clock.sleep(250, stage.stop.signal);
          return engine.solveRequest(request);
        },
      }),
    });
    await stage.advance(50);
    await ask({ podUids: ['a'], budgetMs: 60_000 });
    await ask({ podUids: ['a'], budgetMs: 300 });
    expect(budgets).toEqual([500, 300]);
    await stage.batch(['a']);
    await stage.advance(50);
    const waits = stage.metrics.samples
      .filter(({ metric }) => metric === 'dovetail_solver_queue_wait_seconds')
      .map(({ value, labels }) => [labels['work'], value]);
    expect(waits).toEqual([
      ['request', 0.25],
      ['request', 0.25],
      ['batch', expect.any(Number)],
    ]);
    const timed = stage.metrics.samples
      .filter(({ metric }) => metric === 'karpenter_scheduler_scheduling_duration_seconds')
      .map(({ labels }) => labels['controller']);
    expect(timed).toEqual(['disruption', 'disruption', 'provisioner']);
  });

  test('pods that nobody knows are refused by name', async () => {
    await stage.basics();
    stage.solver('one');
    await stage.advance(50);
    expect(await ask({ podUids: ['nobody'] })).toEqual({
      ok: false,
      code: 'unknown-pods',
      message: expect.stringMatching(/nobody/),
    });
  });
});
