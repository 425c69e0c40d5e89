import { podValue } from '@dovetail/core-kube-model/testing';
import { m5Claim, m5Node, m5Type } from '@dovetail/sim-stage';
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

describe('room that is there', () => {
  test('a node with room is used before a new one is launched, less what is promised there', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    for (const uid of ['a', 'b'])
      await stage.tell('pod', podValue(uid, { requests: { cpu: 5_000, pods: 1 } }));
    await stage.promise('node-n1', ['b']);
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({ placements: [], newNodes: [{ podUids: ['a'] }] });
    await stage.gone('promise', 'node-n1');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(1)).toMatchObject({
      placements: [{ nodeName: 'n1', podUids: ['a'] }],
      newNodes: [],
    });
  });

  test("the room of a replaced pod is its successor's as soon as the pod is being deleted", async () => {
    await stage.basics();
    await stage.tell('claim', m5Claim('c1'));
    const old = { nodeName: 'old', phase: 'Running', requests: { cpu: 4_000, pods: 1 } } as const;
    await stage.tell('pod', podValue('old', old));
    await stage.tell('pod', podValue('new', { requests: old.requests }));
    await stage.promise('claim-c1', [], { reserved: old.requests, forPodUids: ['old'] });
    stage.solver('one');
    await stage.batch(['new']);
    await stage.advance(50);
    await stage.tell('pod', podValue('old', { ...old, deletionMs: 1, resourceVersion: '2' }));
    await stage.batch(['new']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({ placements: [], newNodes: [{ podUids: ['new'] }] });
    expect(stage.planOf(1)).toMatchObject({
      placements: [{ nodeName: 'c1', podUids: ['new'] }],
      newNodes: [],
    });
  });

  test('a claim in flight counts with what every one of its options has', async () => {
    await stage.basics();
    await stage.tell('claim', m5Claim('c1'));
    await stage.tell('pod', podValue('fits', { requests: { cpu: 4_000, pods: 1 } }));
    await stage.tell('pod', podValue('large', { requests: { cpu: 5_000, pods: 1 } }));
    stage.solver('one');
    await stage.batch(['fits']);
    await stage.advance(50);
    await stage.batch(['large']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({
      placements: [{ nodeName: 'c1', podUids: ['fits'] }],
      newNodes: [],
    });
    expect(stage.planOf(1)).toMatchObject({ placements: [], newNodes: [{ podUids: ['large'] }] });
  });

  test('a node that is not initialised takes its zeros from the claim; its startup and ephemeral taints do not count', async () => {
    await stage.basics();
    const claim = m5Claim('c1', {
      nodeName: 'n1',
      capacity: { cpu: 8_000, pods: 58 },
      allocatable: { cpu: 8_000, pods: 58 },
      startupTaints: [{ key: 'cni', effect: 'NoSchedule' }],
    });
    const { 'karpenter.sh/initialized': _initialized, ...labels } = m5Node('n1').labels;
    await stage.tell('claim', claim);
    await stage.tell(
      'node',
      m5Node('n1', {
        labels,
        capacity: { cpu: 0 },
        allocatable: { cpu: 0 },
        taints: [
          { key: 'cni', effect: 'NoSchedule' },
          { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
        ],
      }),
    );
    await stage.tell('pod', podValue('a', { requests: { cpu: 1_000, pods: 1 } }));
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({
      placements: [{ nodeName: 'n1', podUids: ['a'] }],
      newNodes: [],
    });
  });

  test('a node that is being retired gets nobody', async () => {
    await stage.basics();
    await stage.tell(
      'node',
      m5Node('n1', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }),
    );
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({ placements: [], newNodes: [{ podUids: ['a'] }] });
  });

  test('an offering without capacity is avoided until its time is over', async () => {
    await stage.basics();
    for (const zone of ['us-east-1a', 'us-east-1b']) {
      await stage.unavailable({
        instanceType: 'm5.large',
        zone,
        capacityType: 'on-demand',
        untilMs: stage.clock.nowMs() + 10_000,
        awsCode: 'InsufficientInstanceCapacity',
        failures: 1,
      });
    }
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    await stage.advance(10_000);
    await stage.batch(['a']);
    await stage.advance(50);
    expect(
      [0, 1].map((index) => stage.planOf(index).newNodes[0]?.options[0]?.instanceType),
    ).toEqual(['m5.xlarge', 'm5.large']);
  });

  test('a catalog counts once all its parts are there, and its newest revision', async () => {
    await stage.basics();
    const many = Array.from({ length: 3_000 }, (_, index) =>
      m5Type(`t${String(index)}.large`, 2, 90_000 + index),
    );
    await stage.catalog('r2', many);
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.batch(['a']);
    await stage.advance(50);
    expect(stage.planOf(0)).toMatchObject({
      catalogRevision: 'class-default=r2',
      stats: { instanceTypes: 3_000 },
    });
    expect(stage.planOf(0).newNodes[0]?.options[0]?.instanceType).toBe('t0.large');
  });
});
