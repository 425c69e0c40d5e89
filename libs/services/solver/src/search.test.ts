import { requestPlan, requestSearch, type SearchRequest } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import { poolValue } from '@dovetail/core-api/testing';
import type { Pod } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { m5Claim, m5Node } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

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

const cores = (count: number): Partial<Pod> => ({
  requests: { cpu: count * 1_000, memory: 1_000, pods: 1 },
});

/** Settled nodes of 0.384 dollars an hour, each with a pod of so many cores. */
async function running(coresOf: Readonly<Record<string, number>>): Promise<void> {
  await stage.basics();
  const disruption = poolValue('default').disruption;
  await stage.tell(
    'pool',
    poolValue('default', {
      disruption: {
        ...disruption,
        policy: 'WhenEmptyOrUnderutilized',
        consolidateAfterMs: 0,
        budgets: [],
      },
    }),
  );
  for (const [name, count] of Object.entries(coresOf)) {
    await stage.tell('node', m5Node(name));
    await stage.tell(
      'claim',
      m5Claim(`claim-${name}`, {
        nodeName: name,
        providerId: `aws:///us-east-1a/i-${name}`,
        annotations: { [annotations.pricePerHour]: '0.384000' },
        conditions: [
          {
            type: 'Initialized',
            status: 'True',
            reason: 'Initialized',
            message: '',
            lastTransitionMs: 0,
          },
        ],
      }),
    );
    const bound = { nodeName: name, phase: 'Running', unschedulable: false } as const;
    await stage.tell('pod', podValue(`pod-${name}`, { ...bound, ...cores(count) }));
  }
}

const claimUid = (name: string): string => m5Claim(`claim-${name}`).uid;
const searchFor = (
  names: readonly string[],
  change: Partial<SearchRequest> = {},
): SearchRequest => ({
  claimUids: names.map(claimUid),
  spotToSpot: false,
  savingMinMicrosPerHour: 1_000,
  moveCostMicrosPerHour: 1_000,
  savingMinPpm: 20_000,
  ...change,
});

async function found(search: SearchRequest): Promise<unknown> {
  const answer = requestSearch(stage.channel, search, { budgetMs: 10_000, timeoutMs: 15_000 });
  await stage.advance(3_000);
  return answer;
}

describe('a search', () => {
  test('finds nodes that can go, and names the nodes that take their pods', async () => {
    await running({ n1: 1, n2: 6 });
    stage.solver('one');
    await stage.advance(50);
    expect(await found(searchFor(['n1', 'n2']))).toMatchObject({
      ok: true,
      found: {
        commands: [
          {
            claimUids: [claimUid('n1')],
            openNodes: ['n2'],
            nodesIn: 0,
            savedMicrosPerHour: 384_000,
          },
        ],
        complete: true,
      },
    });
  });

  test('finds several nodes that are cheaper than one', async () => {
    await running({ n1: 4 });
    const bound = { nodeName: 'n1', phase: 'Running', unschedulable: false } as const;
    await stage.tell('pod', podValue('second', { ...bound, ...cores(1.5) }));
    stage.solver('one');
    await stage.advance(50);
    expect(await found(searchFor(['n1']))).toMatchObject({
      ok: true,
      found: {
        commands: [
          { claimUids: [claimUid('n1')], openNodes: [], nodesIn: 2, savedMicrosPerHour: 96_000 },
        ],
      },
    });
  });

  test.each<[string, Readonly<Record<string, number>>, SearchRequest]>([
    ['a node that the request does not name', { n1: 1, n2: 7.5 }, searchFor(['n2'])],
    [
      'what saves less than the least',
      { n1: 1, n2: 6 },
      searchFor(['n1', 'n2'], { savingMinMicrosPerHour: 400_000 }),
    ],
  ])('leaves %s', async (_what, nodes, search) => {
    await running(nodes);
    stage.solver('one');
    await stage.advance(50);
    expect(await found(search)).toMatchObject({ ok: true, found: { commands: [] } });
  });

  test('keeps room for pods that wait', async () => {
    await running({ n1: 1, n2: 6 });
    await stage.tell('pod', podValue('waits', cores(7)));
    stage.solver('one');
    await stage.advance(50);
    // The pod fits on n1 alone, so this node is needed.
    expect(await found(searchFor(['n1', 'n2']))).toMatchObject({
      ok: true,
      found: { commands: [] },
    });
  });

  test('is refused beside another search', async () => {
    stage.solver('one', {
      around: (engine) => ({ ...engine, search: () => Promise.resolve({ kind: 'busy' }) }),
    });
    await stage.advance(50);
    expect(await found(searchFor(['n1']))).toMatchObject({ ok: false, code: 'busy' });
  });

  test('lets batches and requests come first', async () => {
    await running({ n1: 1, n2: 6 });
    await stage.tell('pod', podValue('a'));
    stage.solver('one');
    await stage.advance(50);
    const order: string[] = [];
    const [engine] = stage.engines;
    if (engine === undefined) throw new Error('a solver has an engine');
    const port = inThread(engine, stage.clock, async () => {
      if (order.length > 0) return;
      order.push('search begins');
      const request = { podUids: ['a'], withoutNodes: [], budgetMs: 100 };
      await port.solveRequest(request);
      order.push('request planned');
      expect(await port.search(searchFor(['n1']), 1_000)).toEqual({ kind: 'busy' });
    });
    const searched = await port.search(searchFor(['n1', 'n2']), 1_000);
    order.push('search ends');
    expect(searched.kind).toBe('found');
    expect(order).toEqual(['search begins', 'request planned', 'search ends']);
    expect((await port.search(searchFor(['n1']), 1_000)).kind).toBe('found');
  });
});

test('a what-if that names open nodes puts pods on no other', async () => {
  await running({ n1: 1, n2: 2, n3: 2 });
  stage.solver('one');
  await stage.advance(50);
  const ask = async (openNodes?: readonly string[]): Promise<unknown> => {
    const request = { podUids: ['pod-n1'], withoutNodes: ['n1'], budgetMs: 100 };
    const answer = requestPlan(
      stage.channel,
      'plan',
      openNodes === undefined ? request : { ...request, openNodes },
      { timeoutMs: 5_000 },
    );
    await stage.advance(3_000);
    return answer;
  };
  const on = (nodeName: string) => ({ reply: { plan: { placements: [{ nodeName }] } } });
  expect(await ask()).toMatchObject(on('n2'));
  expect(await ask(['n3'])).toMatchObject(on('n3'));
  expect(await ask([])).toMatchObject({
    reply: { plan: { placements: [], newNodes: [{ podUids: ['pod-n1'] }] } },
  });
});
