import type { PlanRequest } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  decisions,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims } = kubeResources;

describe('an expired node', () => {
  test('is replaced first, then drained within the disruption budget, and no pod is lost', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 60_000 });
    await cluster.scale('web', 3);
    await cluster.budget('web', 2);
    const made = replacements({ afterMs: 20_000 });
    reap();
    await cluster.pass(59);
    expect(retirementOn('n1')).toBeUndefined();
    await cluster.pass(15);
    // It goes on taking pods until its own have another place.
    expect([
      retirementOn('n1')?.answeredMs === undefined,
      tainted('n1'),
      isDeleting('claim-n1'),
      cluster.workloads.nodesOf('web'),
    ]).toEqual([false, false, false, ['n1']]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect([
      made.made,
      made.requests.length,
      cluster.workloads.nodesOf('web'),
      cluster.broken,
    ]).toEqual([['new-1'], 1, ['new-1'], []]);
    expect(made.requests[0]).toMatchObject({
      withoutNodes: ['n1'],
      commit: { nodeName: 'n1', reason: 'expired' },
      budgetMs: 1_000,
    });
    expect((await decisions()).find(({ kind }) => kind === 'disrupt')).toMatchObject({
      summary: 'ending n1: expired, replaced by 1 new node',
      facts: { cause: 'expired', pods: '3' },
    });
  });

  test('ends at once when the planner finds room, or when no pod needs a place', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 30_000 });
    await cluster.scale('web', 2);
    await cluster.pass(2);
    await cluster.node('n2');
    await cluster.node('n3', { expireAfterMs: 10_000 });
    const made = replacements({ afterMs: 0, room: true });
    reap();
    expect(await cluster.pass(60, () => cluster.names(nodeClaims).join() === 'claim-n2')).toBe(
      true,
    );
    await cluster.pass(5);
    expect([made.requests.length, cluster.workloads.nodesOf('web')]).toEqual([1, ['n2']]);
  });

  test.each([
    ['room on nodes that are there', true],
    ['a new node', false],
  ])('whose plan for %s is refused stays, and is asked for again', async (_what, room) => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 30_000 });
    await cluster.scale('web', 3);
    await cluster.pass(2);
    await cluster.node('n2');
    const admits = (podUids: readonly string[], request: number) => (request === 1 ? [] : podUids);
    const made = replacements({ afterMs: 1_000, room, admits });
    reap();
    await cluster.pass(60);
    expect([made.requests.length, tainted('n1'), isDeleting('claim-n1')]).toEqual([
      1,
      false,
      false,
    ]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(made.requests.length).toBe(2);
  });

  test('is asked for again with the pods alone whose part of the plan was refused', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 30_000 });
    await cluster.scale('web', 3);
    const admits = (podUids: readonly string[], request: number) =>
      request === 1 ? podUids.slice(1) : podUids;
    const made = replacements({ afterMs: 1_000, admits });
    reap();
    expect(await cluster.pass(150, gone('claim-n1'))).toBe(true);
    const [first, second] = made.requests;
    expect([made.requests.length, second?.podUids]).toEqual([2, first?.podUids.slice(0, 1)]);
    expect((await decisions()).find(({ kind }) => kind === 'disrupt')).toMatchObject({
      summary: 'ending n1: expired, replaced by 2 new nodes',
    });
  });

  test.each([
    ['no solver answers', () => undefined],
    ['the bus is down', () => cluster.server.stop()],
  ])('with pods stays while %s, however many expire together', async (_what, happens) => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const old = ['old-1', 'old-2', 'old-3', 'old-4', 'old-5'];
    for (const name of old) await cluster.node(name, { expireAfterMs: 60_000 });
    await cluster.scale('web', 20);
    await cluster.pass(5);
    // Room for the pods of one of them.
    await cluster.node('spare');
    happens();
    reap();
    await cluster.pass(120);
    expect(cluster.runningInstances()).toHaveLength(6);
    expect(cluster.workloads.nodesOf('web')).toEqual(old);
    expect(old.filter(tainted)).toEqual([]);
  });
});

test('a pool whose nodes expire together is replaced five nodes at a time, whatever the clock says', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const names = Array.from({ length: 8 }, (_, index) => `n${String(index)}`);
  for (const name of names) await cluster.node(name, { cpu: '2', expireAfterMs: 720 * 3_600_000 });
  await cluster.scale('web', 16);
  await cluster.pass(5);
  const made = replacements({ afterMs: 600_000 });
  const jumped = { ...cluster.clock, nowMs: () => cluster.clock.nowMs() + 721 * 3_600_000 };
  reap({ clock: jumped });
  await cluster.pass(60);
  expect(made.requests.map(({ withoutNodes }) => withoutNodes.length)).toEqual([5]);
  expect([names.filter(tainted), cluster.runningInstances().length]).toEqual([[], 8]);
});

describe('a clock that differs from that of the API server', () => {
  const hour = 3_600_000;
  test.each([
    ['9 s', 9_000, ['empty']],
    ['11 s', 11_000, []],
    ['a day', 24 * hour, []],
    ['minus a day', -24 * hour, []],
  ])('by %s (%d ms) lets these nodes end: %j', async (_difference, aheadMs, ended) => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' });
    await cluster.node('busy', { expireAfterMs: 10 * hour });
    await cluster.scale('web', 1);
    await cluster.pass(5);
    await cluster.node('empty', { expireAfterMs: 10 * hour });
    replacements({ afterMs: 10_000 });
    const clock = { ...cluster.clock, nowMs: () => cluster.clock.nowMs() + aheadMs };
    reap({ clock, serverClock: { aheadMs: () => aheadMs } });
    await cluster.pass(120);
    expect(['busy', 'empty'].filter((name) => gone(`claim-${name}`)())).toEqual(ended);
    const said = cluster.log.entries.filter(({ name }) => name === 'clock-wrong');
    expect(said.length).toBe(ended.length === 0 ? 1 : 0);
  });

  test('holds no interrupted node back, and the others until it is set right', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' });
    await cluster.node('empty');
    const { instanceId } = await cluster.node('spot', { capacityType: 'spot' });
    // The API server has not answered yet.
    let aheadMs: number | undefined;
    reap({ serverClock: { aheadMs: () => aheadMs } });
    await cluster.pass(60);
    expect(isDeleting('claim-empty')).toBe(false);
    aheadMs = 5 * hour;
    cluster.twin.interrupt(instanceId);
    expect(await cluster.pass(60, gone('claim-spot'))).toBe(true);
    expect(isDeleting('claim-empty')).toBe(false);
    aheadMs = 0;
    expect(await cluster.pass(60, gone('claim-empty'))).toBe(true);
    const said = cluster.log.entries.flatMap(({ name }) => (/^clock-/.test(name) ? [name] : []));
    expect(said).toEqual(['clock-wrong', 'clock-right']);
  });
});

test('expired nodes whose replacement is refused leave their turn to the next ones', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const odd = Array.from({ length: 5 }, (_, index) => `odd-${String(index)}`);
  for (const name of odd) await cluster.node(name, { cpu: '1', expireAfterMs: 20_000 });
  await cluster.scale('web', 5);
  await cluster.pass(3);
  await cluster.node('plain', { cpu: '1', expireAfterMs: 20_000 });
  await cluster.scale('web', 6);
  const refuses = ({ withoutNodes }: PlanRequest) => withoutNodes.join().startsWith('odd');
  const made = replacements({ afterMs: 5_000, refuses });
  reap();
  expect(await cluster.pass(90, gone('claim-plain'))).toBe(true);
  expect(odd.filter((name) => isDeleting(`claim-${name}`))).toEqual([]);
  expect(cluster.events('DisruptionBlocked').join()).toContain('the plan broke a rule');
  // Each of them was asked for a few times, with longer and longer pauses.
  expect(made.requests.length).toBeLessThan(30);
});
