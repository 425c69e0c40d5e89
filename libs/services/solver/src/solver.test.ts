import { streamHeader, streamName, subjects } from '@dovetail/contracts';
import { poolValue } from '@dovetail/core-api/testing';
import { podValue } from '@dovetail/core-kube-model/testing';
import type { FollowEvent } from '@dovetail/core-ports';
import { clusterName, hash } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SolverEngine } from './engine.js';
import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;

beforeEach(async () => {
  stage = await new SolverStage().begin();
});

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

describe('a batch', () => {
  test('becomes a plan that names what it saw, then is acked; the plan is told as a decision', async () => {
    await stage.basics();
    await stage.head({ epoch: 3, number: 7 });
    for (const uid of ['a', 'b']) await stage.tell('pod', podValue(uid));
    // pod-watcher decides which pods need a node. The scheduler need not have looked at each pod.
    await stage.tell('pod', podValue('c', { unschedulable: false }));
    stage.solver('one');
    await stage.batch(['a', 'b', 'c']);
    await stage.advance(50);
    const position = await stage.bus.position(streamName(clusterName, 'state'));
    expect(stage.plans).toMatchObject([
      {
        cause: { kind: 'pending', group: 'g', round: '1.1' },
        statePosition: { incarnation: position.incarnation, sequence: position.lastSequence },
        admissionSeen: { epoch: 3, number: 7 },
        solver: 'one',
      },
    ]);
    const plan = stage.planOf(0);
    expect(plan).toMatchObject({
      admissionHead: '3.7',
      catalogRevision: 'class-default=r1',
      unplaced: [],
      stateSequence: position.lastSequence,
    });
    expect(plan.newNodes.flatMap((bin) => bin.podUids).toSorted()).toEqual(['a', 'b', 'c']);
    expect(plan.newNodes[0]?.options[0]).toMatchObject({
      instanceType: 'm5.xlarge',
      priceMicrosPerHour: 192_000,
    });
    expect(await stage.queued()).toBe(0);
    expect(stage.decisions).toMatchObject([
      { kind: 'plan', planId: stage.plans[0]?.id, priceMicrosPerHour: 192_000 },
    ]);
    const [told] = stage.decisions;
    const least = told?.lowerBoundMicrosPerHour ?? 0;
    expect(least).toBeGreaterThan(0);
    expect(told?.facts['gap']).toBe((192_000 / least - 1).toFixed(4));
    expect(told?.facts).toMatchObject({
      nodeChargeMicrosPerHour: '5000',
      assumedRequests: 'cpu=25m,memory=250Mi',
    });
  });

  test.each([
    ['Respect', 'm5.2xlarge'],
    ['Ignore', 'm5.large'],
  ] as const)('is planned by the rules of the solver: %s preferences', async (policy, type) => {
    await stage.basics();
    const term = {
      matchExpressions: [
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.2xlarge'] },
      ],
      matchFields: [],
    } as const;
    await stage.tell('pod', podValue('a', { preferredNodeAffinity: [{ weight: 1, term }] }));
    stage.solver('one', { planOptions: { preferencePolicy: policy } });
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(0).newNodes[0]?.options[0]?.instanceType).toBe(type);
  });

  test("is planned by the kubelet settings of a pool's own: two pods a node where it says so", async () => {
    await stage.basics();
    await stage.tell(
      'pool',
      poolValue('default', {
        identity: { kind: 'Provisioner', name: 'default' },
        kubelet: { maxPods: 2 },
      }),
    );
    for (const uid of ['a', 'b', 'c']) await stage.tell('pod', podValue(uid));
    stage.solver('one');
    await stage.batch(['a', 'b', 'c']);
    await stage.advance(50);
    expect(
      stage
        .planOf(0)
        .newNodes.map((bin) => bin.podUids.length)
        .toSorted(),
    ).toEqual([1, 2]);
  });

  test('waits for a mirror that has not reached it', async () => {
    await stage.basics();
    stage.solver('one');
    await stage.advance(10);
    const position = await stage.bus.position(streamName(clusterName, 'state'));
    await stage.batch(['a'], {
      statePosition: { incarnation: position.incarnation, sequence: position.lastSequence + 1 },
    });
    await stage.advance(3_000);
    expect(stage.plans).toEqual([]);
    await stage.tell('pod', podValue('a'));
    await stage.advance(300);
    expect(stage.planOf(0).newNodes[0]?.podUids).toEqual(['a']);
  });

  test('is given back when the mirror does not reach it in time, and not lost', async () => {
    await stage.basics();
    stage.solver('one', { config: { patienceMs: 2_000 } });
    const position = await stage.bus.position(streamName(clusterName, 'state'));
    await stage.batch(['a'], {
      statePosition: { incarnation: position.incarnation, sequence: position.lastSequence + 1 },
    });
    await stage.advance(4_000);
    expect(stage.said('mirror-behind').length).toBeGreaterThan(0);
    await stage.tell('pod', podValue('a'));
    await stage.advance(4_000);
    expect(stage.planOf(0).newNodes[0]?.podUids).toEqual(['a']);
  });

  test('of pods that are bound, gone or promised by now is acked without a plan', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('bound', { nodeName: 'n' }));
    await stage.tell('pod', podValue('promised'));
    await stage.tell('pod', podValue('gone'));
    await stage.gone('pod', 'gone');
    await stage.promise('claim-c', ['promised']);
    stage.solver('one');
    await stage.batch(['bound', 'gone', 'promised']);
    await stage.advance(50);
    expect(stage.plans).toEqual([]);
    expect(await stage.queued()).toBe(0);
  });

  test('that cannot be read ends with a decision that says the field', async () => {
    stage.solver('one');
    await stage.advance(10);
    await stage.bus.publish({
      subject: subjects.pending(clusterName, 'g'),
      payload: new Uint8Array([1, 2, 3]),
    });
    await stage.advance(50);
    expect(stage.said('batch-malformed')).toHaveLength(1);
    expect(stage.decisions).toMatchObject([
      { kind: 'unschedulable', facts: { subject: subjects.pending(clusterName, 'g') } },
    ]);
    expect(await stage.queued()).toBe(0);
  });

  test('that fails three times ends with a decision; the next one is planned', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    let failing = true;
    stage.solver('one', {
      around: (engine) => ({
        ...engine,
        solveBatch: (batch, budgetMs) =>
          failing ? Promise.reject(new Error('a bug')) : engine.solveBatch(batch, budgetMs),
      }),
    });
    await stage.batch(['a']);
    await stage.advance(5_000);
    expect(stage.said('batch-failed')).toHaveLength(3);
    expect(stage.decisions).toMatchObject([
      { kind: 'unschedulable', summary: expect.stringMatching(/failed 3 times: a bug/) },
    ]);
    failing = false;
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.plans).toHaveLength(1);
  });

  test('that takes long stays with its solver; one whose solver dies goes to another', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    const dies = stage.solver('slow', {
      around: (engine) => ({
        ...engine,
        solveBatch: async (batch, budgetMs) => {
          await stage.clock.sleep(30_000, stage.stop.signal);
          return engine.solveBatch(batch, budgetMs);
        },
      }),
    });
    await stage.batch(['a']);
    await stage.advance(10);
    stage.solver('quick');
    await stage.advance(20_000);
    expect(stage.plans).toEqual([]);
    await stage.advance(11_000);
    expect(stage.plans.map((plan) => plan.solver)).toEqual(['slow']);
    await stage.batch(['a'], { group: 'other' });
    dies.abort();
    await stage.advance(10_000);
    expect(stage.plans.map((plan) => plan.solver)).toEqual(['slow', 'quick']);
  });

  test('is planned by one of several solvers, and by any of them alike', async () => {
    await stage.basics();
    for (const uid of ['a', 'b', 'c', 'd']) await stage.tell('pod', podValue(uid));
    for (const name of ['one', 'two', 'three']) stage.solver(name);
    await stage.advance(10);
    for (const uid of ['a', 'b', 'c', 'd']) await stage.batch([uid], { group: uid });
    await stage.advance(100);
    expect(
      stage.plans.map((plan) => (plan.cause.kind === 'pending' ? plan.cause.group : '')).toSorted(),
    ).toEqual(['a', 'b', 'c', 'd']);
    const position = await stage.bus.position(streamName(clusterName, 'state'));
    const batch = {
      group: 'g',
      podUids: ['a', 'b', 'c', 'd'],
      round: '1.9',
      statePosition: { incarnation: position.incarnation, sequence: position.lastSequence },
      cutAtMs: 0,
      youngestMs: 0,
    };
    const ids = stage.engines.map((engine) => {
      const solved = engine.solveBatch(batch, 100);
      return solved.kind === 'plan' ? solved.message.id : solved.kind;
    });
    expect(new Set(ids).size).toBe(1);
  });
});

describe('what was lost', () => {
  test("a purged feed is waited for until the batch's pods are told again", async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.advance(10);
    stage.server.purgeStream(streamName(clusterName, 'state'));
    await stage.batch(['a']);
    await stage.advance(500);
    expect(stage.plans).toEqual([]);
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    await stage.advance(500);
    expect(stage.planOf(0).newNodes[0]?.podUids).toEqual(['a']);
  });

  test('a batch that was cut from a stream that is gone is planned once its pods are known from the new one', async () => {
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    await stage.batch(['a']);
    stage.server.deleteStream(streamName(clusterName, 'state'));
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.advance(500);
    expect(stage.plans).toHaveLength(1);
  });

  test('a bus that dies and loses everything is followed on', async () => {
    await stage.basics();
    stage.solver('one');
    await stage.advance(10);
    stage.server.stop();
    await stage.advance(1_000);
    stage.server.start({ wiped: true });
    await stage.advance(10);
    await stage.basics();
    await stage.tell('pod', podValue('a'));
    await stage.batch(['a']);
    await stage.advance(500);
    expect(stage.planOf(0).newNodes[0]?.podUids).toEqual(['a']);
  });

  test('a message of the feed that cannot be read is named, counted and passed over', async () => {
    await stage.basics();
    await stage.bus.publish({
      subject: subjects.state(clusterName, 'pod', 'bad'),
      payload: new Uint8Array([255]),
      headers: { [streamHeader]: streamName(clusterName, 'state') },
    });
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.plans).toHaveLength(1);
    expect(stage.engines[0]?.debugState()).toMatchObject({ malformed: { 'pod.StateRecord': 1 } });
    expect(stage.said('message-malformed').map(({ message }) => message)).toEqual([
      expect.stringContaining(`${subjects.state(clusterName, 'pod', 'bad')}: StateRecord: `),
    ]);
    expect(
      stage.metrics.samples.filter(({ metric }) => metric === 'dovetail_malformed_messages_total'),
    ).toEqual([
      {
        kind: 'count',
        metric: 'dovetail_malformed_messages_total',
        value: 1,
        labels: { message: 'state', field: 'StateRecord' },
      },
    ]);
  });
});

test('a solver is ready once it has read both streams, and while the bus is there', async () => {
  stage.solver('one');
  const ready = (): unknown => stage.services[0]?.ready();
  expect(ready()).toEqual({ bus: true, mirror: false });
  await stage.advance(50);
  expect(ready()).toEqual({ bus: true, mirror: true });
  stage.server.stop();
  expect(ready()).toMatchObject({ bus: false });
});

test('an engine that has read nothing yet says so', () => {
  const engine = new SolverEngine({ cluster: clusterName, solver: 'x', hash, nowMs: () => 0 });
  expect(engine.ready).toBe(false);
  expect(engine.solveRequest({ podUids: [], withoutNodes: [], budgetMs: 1 })).toEqual({
    kind: 'behind',
  });
  const caughtUp: FollowEvent = {
    kind: 'caught-up',
    position: { incarnation: 'i', lastSequence: 0 },
  };
  engine.state(caughtUp);
  engine.catalog(caughtUp);
  expect(engine.ready).toBe(true);
  engine.state({ kind: 'reset', reason: 'gone' });
  expect(engine.ready).toBe(false);
});

test('a pool whose class has no catalog yet launches nothing, with the reason', async () => {
  await stage.tell('pool', poolValue('default'));
  await stage.tell('pod', podValue('a'));
  stage.solver('one');
  await stage.batch(['a']);
  await stage.advance(50);
  expect(stage.planOf(0)).toMatchObject({
    newNodes: [],
    unplaced: [{ podUid: 'a', reasons: [{ code: 'pool-not-ready' }] }],
  });
});
