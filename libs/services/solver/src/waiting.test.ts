import { type PlanRequest, requestPlan } from '@dovetail/contracts';
import type { Pod } from '@dovetail/core-kube-model';
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

const cores = (count: number): Partial<Pod> => ({
  requests: { cpu: count * 1_000, memory: 1_000, pods: 1 },
});

/** Nodes of 8 cores, each with a pod of so many cores; and pods that wait. */
async function cluster(
  running: Readonly<Record<string, number>>,
  waiting: Readonly<Record<string, number>>,
): Promise<void> {
  await stage.basics();
  for (const [name, count] of Object.entries(running)) {
    await stage.tell('node', m5Node(name));
    const bound = { nodeName: name, phase: 'Running', unschedulable: false } as const;
    await stage.tell('pod', podValue(`pod-${name}`, { ...bound, ...cores(count) }));
  }
  for (const [uid, count] of Object.entries(waiting))
    await stage.tell('pod', podValue(uid, cores(count)));
  stage.solver('one');
  await stage.advance(50);
}

/** The plan for the pod of n1, as if n1 were gone. */
async function withoutN1(request: Partial<PlanRequest> = {}): Promise<unknown> {
  const answer = requestPlan(
    stage.channel,
    'plan',
    { podUids: ['pod-n1'], withoutNodes: ['n1'], budgetMs: 100, ...request },
    { timeoutMs: 5_000 },
  );
  await stage.advance(3_000);
  return answer;
}

const on = (nodeName: string): object => ({
  reply: { plan: { placements: [{ nodeName, podUids: ['pod-n1'] }], newNodes: [], unplaced: [] } },
});
const bought = {
  reply: { plan: { placements: [], newNodes: [{ podUids: ['pod-n1'] }], unplaced: [] } },
};

describe('a what-if', () => {
  test('leaves pods that wait the room that they fit in, and plans none of them', async () => {
    await cluster({ n1: 4, n2: 4 }, { waits: 3 });
    expect(await withoutN1()).toMatchObject(bought);
  });

  test.each<[string, Readonly<Record<string, number>>, object]>([
    ['that fit beside the pods that move', { waits: 1 }, on('n2')],
    ['that fit nowhere', { waits: 7 }, on('n2')],
    ['of which none is there', {}, on('n2')],
  ])('is not changed by waiting pods %s', async (_what, waiting, answer) => {
    await cluster({ n1: 3, n2: 4 }, waiting);
    expect(await withoutN1()).toMatchObject(answer);
  });

  test('that is committed leaves them their room, too', async () => {
    await cluster({ n1: 4, n2: 4 }, { waits: 3 });
    const commit = { nodeName: 'n1', nodeUid: 'node-n1', reason: 'expired' };
    expect(await withoutN1({ commit })).toMatchObject(bought);
    expect(stage.planOf(0)).toMatchObject({ newNodes: [{ podUids: ['pod-n1'] }], placements: [] });
  });

  test('does not send pods that wait to the nodes that are open, if others have room', async () => {
    await cluster({ n1: 4, n2: 4, n3: 4 }, { waits: 3 });
    expect(await withoutN1({ openNodes: ['n3'] })).toMatchObject(on('n3'));
  });

  test('gives no room to a waiting pod that has a promise, or that is asked about', async () => {
    await cluster({ n1: 4, n2: 4 }, { promised: 3, asked: 3 });
    await stage.promise('node-elsewhere', ['promised']);
    await stage.advance(50);
    expect(await withoutN1({ podUids: ['pod-n1', 'asked'] })).toMatchObject({
      reply: {
        plan: {
          placements: [{ nodeName: 'n2', podUids: ['pod-n1'] }],
          newNodes: [{ podUids: ['asked'] }],
        },
      },
    });
  });
});
