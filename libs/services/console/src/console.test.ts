import { workBatches } from '@dovetail/contracts';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ConsoleStage, type TestPage } from './testing/console-stage.js';

let stage: ConsoleStage;
beforeEach(async () => {
  stage = await new ConsoleStage().begin();
});
afterEach(() => stage.end());

const reason = {
  code: 'resources-too-large',
  message: 'the pod asks for 60 cpu, and the largest type has 48',
  values: {},
  remedy: 'ask for at most 47 cpu',
} as const;

describe('a page', () => {
  test('gets the whole view first, and then what changes', async () => {
    await stage.tell('claim', claimValue('a', { nodeName: 'node-a' }));
    await stage.tell('node', nodeValue('node-a'));
    await stage.tell('pool', poolValue('default'));
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    expect(page.frames).toMatchObject([{ kind: 'whole', cluster: 'lab', bus: { state: 'live' } }]);
    expect([...page.view().nodes.values()]).toMatchObject([{ node: 'node-a' }]);
    expect(page.view().pools).toEqual(['NodePool/default']);

    await stage.tell('pod', podValue('p', { nodeName: 'node-a', phase: 'Running' }));
    await stage.until('the pod', () => [...page.view().nodes.values()][0]?.pods === 1);
    expect(page.frames.slice(1).every(({ kind }) => kind === 'change')).toBe(true);

    await stage.gone('claim', claimValue('a').uid);
    await stage.until('its end', () => page.view().nodes.size === 0);
  });

  test('hears from the console every five seconds, though nothing happens', async () => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    await stage.advance(16_000);
    const quiet = page.frames.slice(1);
    expect(quiet.length).toBeGreaterThanOrEqual(3);
    for (const frame of quiet) expect(frame).not.toHaveProperty('nodes');
  });

  test('that comes later sees the same as one that was there', async () => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const early = stage.page(service);
    await stage.tell('claim', claimValue('a'));
    await stage.decide('launch', { claimName: 'a', priceMicrosPerHour: 100_000 });
    await stage.until('the decision', () => early.view().decisions.length === 1);
    await stage.advance(1_000);
    const late = stage.page(service);
    expect(late.view()).toEqual({ ...early.view(), nowMs: late.view().nowMs });
  });

  test('gets nothing more once it is closed', async () => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    page.close();
    await stage.tell('claim', claimValue('a'));
    await stage.advance(10_000);
    expect(page.frames).toHaveLength(1);
    expect(service.debugState()).toMatchObject({ pages: 0 });
  });
});

describe('while the bus is away', () => {
  test('the page is told so, keeps what it has, and goes on by itself', async () => {
    await stage.tell('claim', claimValue('a'));
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    stage.server.stop();
    await stage.until('the outage', () => page.view().bus.state === 'away');
    expect(page.view().nodes.size).toBe(1);
    // Its Service in Kubernetes goes on sending pages to it.
    expect(service.ready()).toEqual({ mirror: true });
    stage.server.start();
    await stage.tell('claim', claimValue('b'));
    await stage.until('both', () => page.view().nodes.size === 2);
    expect(page.view().bus.state).toBe('live');
  });
});

describe('a pod without a node waits', () => {
  const why = async (): Promise<unknown> => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    await stage.advance(1_000);
    const [row] = stage.page(service).view().waiting.rows;
    return row;
  };
  const waiting = podValue('p', { phase: 'Pending', unschedulable: true });

  test('for a plan, if no service has said anything', async () => {
    await stage.tell('pod', waiting);
    expect(await why()).toMatchObject({ why: 'waits for a plan', codes: [] });
  });
  test('for its gate', async () => {
    await stage.tell('pod', { ...waiting, schedulingGates: ['example.com/hold'] });
    expect(await why()).toMatchObject({ why: 'held by scheduling gate example.com/hold' });
  });
  test('for its own scheduler, which is named', async () => {
    await stage.tell('pod', { ...waiting, schedulerName: 'own', unschedulable: false });
    expect(await why()).toMatchObject({
      why: 'scheduler own has not said yet that it finds no room; a node is planned for once it does',
    });
  });
  test('for a plan, if its own scheduler found no room, which binds it afterwards', async () => {
    await stage.tell('pod', { ...waiting, schedulerName: 'own' });
    expect(await why()).toMatchObject({
      why: 'waits for a plan (left to scheduler own, which alone binds it)',
    });
  });
  test('for the node that its room is promised on', async () => {
    await stage.tell('pod', waiting);
    await stage.promise('claim-a', ['p']);
    expect(await why()).toMatchObject({ why: 'its place is kept on NodeClaim claim-a' });
  });
  test('for the reason of its verdict, with the smallest change that would help', async () => {
    await stage.tell('pod', waiting);
    await stage.verdict('p', { reasons: [reason] });
    expect(await why()).toMatchObject({
      why: reason.message,
      codes: ['resources-too-large'],
      remedy: 'ask for at most 47 cpu',
    });
  });
  test('for the reason of the last decision, once the verdict has ended', async () => {
    await stage.tell('pod', waiting);
    await stage.decide('unschedulable', {
      reasons: [reason],
      objects: [{ kind: 'Pod', name: 'p', namespace: 'default', uid: 'p' }],
    });
    expect(await why()).toMatchObject({ why: reason.message });
  });
  test('no more once it is bound', async () => {
    await stage.tell('pod', waiting);
    await stage.tell('pod', { ...waiting, nodeName: 'n' });
    expect(await why()).toBeUndefined();
  });
});

describe('decisions', () => {
  test('come as rows, the newest first, and open whole', async () => {
    const service = stage.console();
    await stage.decide('plan', {
      id: 'plan/1',
      source: 'solver',
      priceMicrosPerHour: 500_000,
      lowerBoundMicrosPerHour: 490_000,
      facts: { solveMs: '120' },
    });
    await stage.decide('launch', { id: 'launch/1', alternatives: [{ what: 'm5.large' }] });
    const page = stage.page(service);
    await stage.until('both', () => page.view().decisions.length === 2);
    expect(page.view().decisions.map(({ kind }) => kind)).toEqual(['launch', 'plan']);
    expect(service.decision('launch/1')?.alternatives).toEqual([{ what: 'm5.large' }]);
    expect(service.decision('launch/2')).toBeUndefined();
    expect(page.view().rounds).toMatchObject([
      { priceMicrosPerHour: 500_000, lowerBoundMicrosPerHour: 490_000, solveMs: 120 },
    ]);
  });

  test('tell of the services, with epochs where these are on the bus', async () => {
    await stage.tell('claim', claimValue('a'));
    await stage.head(3, 12);
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    expect(stage.page(service).view().services).toMatchObject([
      { name: 'pod-watcher', epoch: 2 },
      { name: 'solver', work: 'has planned nothing yet' },
      { name: 'launcher', epoch: 3, work: 'last admission 3.12' },
      { name: 'reaper' },
    ]);
  });
});

describe('the lag of the solvers', () => {
  const work = (page: TestPage): string | undefined =>
    page.view().services.find(({ name }) => name === 'solver')?.work;

  test('is that of their queue, and is said while a page is open', async () => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    await stage.until('the answer', () => work(page)?.startsWith('no solver has run yet; '));
    for (const group of ['a', 'b']) await stage.batch(group);
    const batches = workBatches({ ...stage.channel, bus: stage.connect() }, stage.stop.signal);
    const first = await batches.next();
    await stage.until('both', () =>
      work(page)?.startsWith('batches that wait: 1, being planned: 1; '),
    );
    await first.value?.item.ack();
    await stage.until('the other', () =>
      work(page)?.startsWith('batches that wait: 1, being planned: 0; '),
    );
  });

  test('is not said while the bus does not say it', async () => {
    const service = stage.console();
    await stage.until('the first reading', () => service.ready()['mirror']);
    const page = stage.page(service);
    await stage.until('the answer', () => work(page)?.startsWith('no solver has run yet; '));
    stage.server.stop();
    await stage.until('its end', () => work(page) === 'has planned nothing yet');
  });
});

test('5,000 nodes come once, and after that only those that changed', async () => {
  for (let index = 0; index < 5_000; index += 1) {
    const name = String(index);
    await stage.tell('claim', claimValue(name, { nodeName: `node-${name}` }));
  }
  const service = stage.console();
  await stage.until('the first reading', () => service.ready()['mirror']);
  const page = stage.page(service);
  expect(page.view().nodes.size).toBe(5_000);
  await stage.tell('node', nodeValue('node-7'));
  await stage.until('the change', () =>
    page.frames.some(({ kind, nodes }) => kind === 'change' && nodes !== undefined),
  );
  const changed = page.frames
    .filter(({ kind }) => kind === 'change')
    .flatMap(({ nodes }) => nodes?.set ?? []);
  expect(changed.map(({ node }) => node)).toEqual(['node-7']);
});
