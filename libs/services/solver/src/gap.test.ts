import { requestGap } from '@dovetail/contracts';
import { poolValue } from '@dovetail/core-api/testing';
import type { Pod } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { clusterName, hash, m5Claim, m5Node, m5Types } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SolverEngine } from './engine.js';
import { EngineDesk } from './engine-desk.js';
import { inThread } from './engine-port.js';
import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;

beforeEach(async () => {
  stage = await new SolverStage().begin();
});

afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

const bound = (name: string, nodeName: string, over: Partial<Pod> = {}): Pod =>
  podValue(name, {
    nodeName,
    phase: 'Running',
    unschedulable: false,
    requests: { cpu: 1_500, memory: 1_000, pods: 1 },
    ...over,
  });

/** Nodes of 0.384 dollars an hour with a claim each, and a pod of one and a half cores on each. */
async function running(...names: readonly string[]): Promise<void> {
  await stage.basics();
  for (const name of names) {
    await stage.tell('node', m5Node(name));
    const providerId = `aws:///us-east-1a/i-${name}`;
    await stage.tell('claim', m5Claim(`claim-${name}`, { nodeName: name, providerId }));
    await stage.tell('pod', bound(`pod-${name}`, name));
  }
}

async function asked(): Promise<unknown> {
  const answer = requestGap(stage.channel, { budgetMs: 5_000, timeoutMs: 30_000 });
  await stage.advance(3_000);
  return answer;
}

async function solving(...options: [options?: Parameters<SolverStage['solver']>[1]]) {
  stage.solver('one', ...options);
  await stage.advance(50);
}

describe('the gap', () => {
  test('is the price of the nodes beside that of a plan from nothing, and its bound', async () => {
    await running('n1', 'n2');
    await solving();
    expect(await asked()).toMatchObject({
      ok: true,
      gap: {
        nodes: 2,
        priceMicrosPerHour: 768_000,
        nodesWithoutPrice: 0,
        pods: 2,
        planNodes: 1,
        planPriceMicrosPerHour: 192_000,
        bound: { priceMicrosPerHour: expect.any(Number) as number },
        podsUnplaced: 0,
        priceEstimated: false,
        statePosition: { sequence: 8 },
      },
    });
    expect(stage.plans).toEqual([]);
    expect(stage.decisions).toEqual([]);
  });

  test('says that a price is an estimate, of a node or of the plan', async () => {
    await running('n1');
    await solving();
    for (const [index, name] of ['m5.2xlarge', 'm5.large', 'm5.xlarge'].entries()) {
      const types = m5Types.map((type) => ({
        ...type,
        offerings: type.offerings.map((one) => ({ ...one, priceEstimated: type.name === name })),
      }));
      await stage.catalog(`estimated-${String(index)}`, types);
      expect(await asked()).toMatchObject({ gap: { priceEstimated: name !== 'm5.xlarge' } });
    }
  });

  test('of a cluster without nodes of ours is nothing at all', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('theirs'));
    await stage.tell('pod', bound('stays', 'theirs'));
    await stage.tell('pod', podValue('waits'));
    await solving();
    expect(await asked()).toMatchObject({
      gap: {
        nodes: 0,
        priceMicrosPerHour: 0,
        pods: 0,
        planNodes: 0,
        planPriceMicrosPerHour: 0,
        bound: { priceMicrosPerHour: 0 },
        podsUnplaced: 0,
      },
    });
  });

  test('counts pods that nothing may move, and neither daemons, static pods nor ended ones', async () => {
    await running('n1');
    const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' };
    const kept = { 'karpenter.sh/do-not-disrupt': 'true' };
    await stage.tell('pod', bound('kept', 'n1', { annotations: kept }));
    await stage.tell('pod', bound('daemon', 'n1', { owner: daemon }));
    await stage.tell('pod', bound('static', 'n1', { mirror: true }));
    await stage.tell('pod', bound('ended', 'n1', { phase: 'Succeeded' }));
    await solving();
    expect(await asked()).toMatchObject({ gap: { pods: 2, podsUnplaced: 0 } });
  });

  test('counts claims on their way, with the pods that are promised room on them', async () => {
    await running('n1');
    await stage.tell('claim', m5Claim('coming'));
    await stage.tell('pod', podValue('promised', { requests: { cpu: 1_500, pods: 1 } }));
    await stage.promise(m5Claim('coming').uid, ['promised']);
    await solving();
    // The claim may still become one of two types.
    expect(await asked()).toMatchObject({
      gap: { nodes: 2, nodesWithoutPrice: 1, priceMicrosPerHour: 384_000, pods: 2, planNodes: 1 },
    });
  });

  test('leaves nodes of other owners out, and puts no pod on them', async () => {
    await running('n1');
    await stage.tell('node', m5Node('theirs'));
    await solving();
    expect(await asked()).toMatchObject({ gap: { nodes: 1, planNodes: 1 } });
  });

  test('says how many pods have no place, and counts the pool’s limit from nothing', async () => {
    await running('n1', 'n2');
    await stage.tell('pool', poolValue('default', { limits: { cpu: 2_000 } }));
    await solving();
    expect(await asked()).toMatchObject({
      gap: { pods: 2, planNodes: 1, planPriceMicrosPerHour: 96_000, podsUnplaced: 1 },
    });
  });

  test('is refused while the mirror is not complete', async () => {
    const nowMs = (): number => stage.clock.nowMs();
    const empty = new SolverEngine({ cluster: clusterName, solver: 'one', hash, nowMs });
    const { gap } = inThread(empty, stage.clock);
    expect(await gap(1_000, 0)).toEqual({ kind: 'behind' });
    stage.solver('one', { around: (engine) => ({ ...engine, gap }) });
    await stage.advance(50);
    expect(await asked()).toMatchObject({ ok: false, code: 'not-ready' });
  });

  test('has the plan’s own bound if the proof fails, and says so', async () => {
    await running('n1', 'n2');
    const solve = () => Promise.reject(new Error('out of memory'));
    await solving({ prover: () => ({ solve }) });
    expect(await asked()).toMatchObject({ ok: true, gap: { planPriceMicrosPerHour: 192_000 } });
    expect(stage.said('bound-unproven')).toHaveLength(1);
  });
});

describe('a plan from nothing', () => {
  test('lets a batch come first, and is the same plan', async () => {
    await running('n1', 'n2', 'n3');
    await stage.tell('pod', podValue('waits'));
    await solving();
    const [engine] = stage.engines;
    if (engine === undefined) throw new Error('a solver has an engine');
    let steps = 0;
    const calm = new EngineDesk(engine, stage.clock, { receive: () => (steps += 1) });
    const alone = await calm.gap(5_000, 0);
    expect(steps).toBeGreaterThan(10);
    const order: string[] = [];
    let step = 0;
    const statePosition = { incarnation: '', sequence: 0 };
    const cut = { group: 'g', podUids: ['waits'], round: '1.1', cutAtMs: 0, youngestMs: 0 };
    const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
      receive: () => {
        step += 1;
        if (step !== Math.floor(steps / 2)) return;
        const note = (what: string) => (): void => void order.push(what);
        const done = { resolve: note('batch'), reject: note('failed') };
        desk.solveBatch({ ...cut, statePosition }, 100, done);
      },
    });
    const beside = await desk.gap(5_000, 0);
    order.push('gap');
    expect(order).toEqual(['batch', 'gap']);
    expect(beside).toEqual(alone);
  });

  test('lets a batch come first while its bound is proven, too', async () => {
    await running('n1', 'n2');
    await stage.tell('pod', podValue('waits'));
    let isProving = false;
    const solve = () => Promise.reject(new Error('not reached'));
    await solving({ prover: () => ((isProving = true), { solve }) });
    const [engine] = stage.engines;
    if (engine === undefined) throw new Error('a solver has an engine');
    const order: string[] = [];
    const statePosition = { incarnation: '', sequence: 0 };
    const cut = { group: 'g', podUids: ['waits'], round: '1.1', cutAtMs: 0, youngestMs: 0 };
    const desk: EngineDesk = new EngineDesk(engine, stage.clock, {
      receive: () => {
        if (!isProving) return;
        isProving = false;
        const note = (what: string) => (): void => void order.push(what);
        const done = { resolve: note('batch'), reject: note('failed') };
        desk.solveBatch({ ...cut, statePosition }, 100, done);
      },
    });
    await desk.gap(1_000, 1_000);
    order.push('gap');
    expect(order).toEqual(['batch', 'gap']);
  });

  test('is one at a time, beside searches too', async () => {
    await running('n1');
    await solving();
    const [engine] = stage.engines;
    if (engine === undefined) throw new Error('a solver has an engine');
    const port = inThread(engine, stage.clock);
    const first = port.gap(1_000, 0);
    expect(port.exploring()).toBe(true);
    const search = { claimUids: [], spotToSpot: false, savingMinMicrosPerHour: 0 };
    const rules = { savingMinPpm: 0, moveCostMicrosPerHour: 0 };
    const second = port.gap(1_000, 0);
    const searched = port.search({ ...search, ...rules }, 1_000);
    const kinds = (await Promise.all([first, second, searched])).map(({ kind }) => kind);
    expect(kinds).toEqual(['gap', 'busy', 'busy']);
    expect((await port.gap(1_000, 0)).kind).toBe('gap');
    expect(port.exploring()).toBe(false);
  });
});
