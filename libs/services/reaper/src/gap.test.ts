import type { Decision, GapReply } from '@dovetail/contracts';
import { describe, expect, test } from 'vitest';

import { cluster, decisions, reap, replacements, started } from './testing/current-cluster.js';

const every = { config: { gapEveryMs: 600_000 } } as const;

const answer: GapReply = {
  nodes: 12,
  priceMicrosPerHour: 1_920_000,
  nodesWithoutPrice: 0,
  pods: 120,
  planNodes: 11,
  planPriceMicrosPerHour: 1_850_000,
  bound: { kind: 'assignment-lp', priceMicrosPerHour: 1_810_000 },
  podsUnplaced: 0,
  statePosition: { incarnation: 'one', sequence: 7 },
  solveMs: 210,
  priceEstimated: false,
};

/** A node with two pods that nothing disrupts. */
async function twoPods(): Promise<void> {
  await started();
  await cluster.node('n1', { cpu: '2' });
  await cluster.scale('web', 2);
  await cluster.pass(1);
}

const gaps = async (): Promise<readonly Decision[]> =>
  (await decisions()).filter(({ kind }) => kind === 'gap');

const shown = (): readonly (number | undefined)[] =>
  ['price', 'plan', 'bound'].map(
    (what) => cluster.metrics.scraped(`dovetail_cluster_${what}_dollars`)[0]?.value,
  );

describe('the gap', () => {
  test('is asked for soon, told as a decision, and shown by the leader', async () => {
    await twoPods();
    const solver = replacements({ afterMs: 0, gap: () => answer });
    const { stop } = reap(every);
    expect(shown()).toEqual([undefined, undefined, undefined]);
    expect(await cluster.pass(45, () => solver.gaps === 1, 1_000)).toBe(true);
    await cluster.pass(1);
    expect(await gaps()).toMatchObject([
      {
        source: 'reaper',
        summary:
          '12 nodes cost $1.9200/h; a plan from nothing costs $1.8500/h on 11 nodes, and none costs less than $1.8100/h',
        priceMicrosPerHour: 1_920_000,
        lowerBoundMicrosPerHour: 1_810_000,
        alternatives: [{ priceMicrosPerHour: 1_850_000 }],
        reasons: [{ code: 'gap-measured' }],
        facts: {
          nodes: '12',
          nodesWithoutPrice: '0',
          pods: '120',
          planNodes: '11',
          planPriceMicrosPerHour: '1850000',
          podsUnplaced: '0',
          bound: 'assignment-lp',
          solveMs: '210',
        },
      },
    ]);
    expect(shown()).toEqual([1.92, 1.85, 1.81]);
    stop.abort();
    await cluster.pass(1);
    expect(shown()).toEqual([undefined, undefined, undefined]);
  });

  test('is not asked for again while nothing changes, and then not before its time', async () => {
    await twoPods();
    const solver = replacements({ afterMs: 0, gap: () => answer });
    reap(every);
    expect(await cluster.pass(45, () => solver.gaps === 1, 1_000)).toBe(true);
    await cluster.pass(1_500);
    expect([solver.gaps, (await gaps()).length]).toEqual([1, 1]);
    await cluster.scale('web', 3);
    expect(await cluster.pass(15, () => solver.gaps === 2, 1_000)).toBe(true);
    await cluster.scale('web', 2);
    await cluster.pass(500);
    expect(solver.gaps).toBe(2);
    expect(await cluster.pass(120, () => solver.gaps === 3, 1_000)).toBe(true);
  });

  test('of a new state with the same numbers is told again', async () => {
    await twoPods();
    let sequence = 7;
    const statePosition = () => ({ incarnation: 'one', sequence: (sequence += 1) });
    replacements({ afterMs: 0, gap: () => ({ ...answer, statePosition: statePosition() }) });
    reap(every);
    await cluster.pass(60);
    await cluster.scale('web', 3);
    await cluster.pass(620);
    expect((await gaps()).map(({ id }) => id)).toEqual([
      'gap/one/8/1920000-1850000-1810000',
      'gap/one/9/1920000-1850000-1810000',
    ]);
  });

  test('is asked for again after half a minute if a solver is busy, or if there is none', async () => {
    await twoPods();
    reap(every);
    await cluster.pass(45);
    expect(cluster.log.lines.join('\n')).toContain('gap-unanswered');
    let refuses = true;
    const solver = replacements({ afterMs: 0, gap: () => (refuses ? undefined : answer) });
    expect(await cluster.pass(45, () => solver.gaps === 1, 1_000)).toBe(true);
    refuses = false;
    expect(await cluster.pass(45, () => solver.gaps === 2, 1_000)).toBe(true);
    await cluster.pass(1);
    expect((await gaps()).length).toBe(1);
  });

  test.each([
    ['switched off', 0],
    ['on, in a cluster without nodes of ours', 600_000],
  ])('is not asked for where it is %s', async (_how, gapEveryMs) => {
    await (gapEveryMs === 0 ? twoPods() : started());
    const solver = replacements({ afterMs: 0, gap: () => answer });
    reap({ config: { gapEveryMs } });
    await cluster.pass(700);
    expect([solver.gaps, await gaps()]).toEqual([0, []]);
  });

  test.each<[string, Partial<GapReply>, string]>([
    [
      'nodes without a price and pods without a place',
      { nodes: 1, nodesWithoutPrice: 1, podsUnplaced: 2 },
      '1 node costs $1.9200/h without 1 of unknown price; a plan from nothing costs $1.8500/h on 11 nodes, and none costs less than $1.8100/h; it has no place for 2 pods',
    ],
    [
      'estimated prices',
      { priceEstimated: true },
      '12 nodes cost ~$1.9200/h; a plan from nothing costs ~$1.8500/h on 11 nodes, and none costs less than ~$1.8100/h',
    ],
    [
      'a plan without a bound',
      { bound: { kind: 'none', priceMicrosPerHour: 0 } },
      '12 nodes cost $1.9200/h; a plan from nothing costs $1.8500/h on 11 nodes',
    ],
  ])('says so of %s', async (_what, over, summary) => {
    await twoPods();
    replacements({ afterMs: 0, gap: () => ({ ...answer, ...over }) });
    reap(every);
    await cluster.pass(60);
    expect((await gaps()).map((one) => one.summary)).toEqual([summary]);
    expect(shown()[2]).toBe(over.bound === undefined ? 1.81 : undefined);
  });
});
