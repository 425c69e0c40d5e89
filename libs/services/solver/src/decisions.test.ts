import { requestPlan, subjects } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { BusError, type PublishAck } from '@dovetail/core-ports';
import { clusterName, m5Node } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;
beforeEach(async () => {
  stage = await new SolverStage().begin();
});
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

/** A bus on which decisions cannot be published while the link is away. */
function linked(link: { isAway: boolean }) {
  const bus = stage.connect();
  const publish = (message: Parameters<typeof bus.publish>[0]): Promise<PublishAck> =>
    link.isAway && message.subject.includes('.decision.')
      ? Promise.reject(new BusError('unavailable', 'no connection'))
      : bus.publish(message);
  return new Proxy(bus, {
    get: (target, name) => {
      if (name === 'publish') return publish;
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function' ? (found.bind(target) as unknown) : found;
    },
  });
}

const unreadable = (group: string): Promise<unknown> =>
  stage.bus.publish({
    subject: subjects.pending(clusterName, group),
    payload: new Uint8Array([1, 2, 3]),
  });

test.each<[string, string, () => Promise<unknown>]>([
  ['a plan', 'plan', () => stage.batch(['a'])],
  ['an unreadable batch', 'unschedulable', () => unreadable('g')],
])(
  'the decision of %s is logged, kept while the bus is away, and published once it is back',
  async (_what, kind, arrive) => {
    const link = { isAway: true };
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    stage.solver('one', { bus: linked(link) });
    await stage.advance(10);
    await arrive();
    await stage.advance(5_000);
    expect(await stage.queued()).toBe(0);
    expect(stage.decisions).toEqual([]);
    expect(stage.said(`decision-${kind}`)).toHaveLength(1);
    link.isAway = false;
    await stage.advance(5_000);
    expect(stage.decisions).toMatchObject([{ kind, source: 'solver' }]);
    expect(stage.said(`decision-${kind}`)).toHaveLength(1);
  },
);

test('two unreadable batches of one group are two decisions', async () => {
  stage.solver('one');
  await stage.advance(10);
  for (const _ of [1, 2]) {
    await unreadable('g');
    await stage.advance(50);
  }
  expect(new Set(stage.decisions.map(({ id }) => id)).size).toBe(2);
});

test('a replacement is told as a decision only when it is committed', async () => {
  await stage.basics();
  await stage.tell('node', m5Node('n1'));
  await stage.tell('pod', podValue('a', { nodeName: 'n1', phase: 'Running' }));
  stage.solver('one');
  await stage.advance(50);
  const request = { podUids: ['a'], withoutNodes: ['n1'], budgetMs: 100 };
  const commit = { nodeName: 'n1', nodeUid: 'node-n1', reason: 'expired' };
  for (const asked of [request, { ...request, commit }]) {
    expect(stage.decisions).toEqual([]);
    const answer = requestPlan(stage.channel, 'plan', asked, { timeoutMs: 5_000 });
    await stage.advance(3_000);
    expect(await answer).toMatchObject({ ok: true });
  }
  expect(stage.decisions).toMatchObject([
    { kind: 'plan', planId: stage.plans[0]?.id, objects: [{ kind: 'Node', name: 'n1' }] },
  ]);
});
