import { claimValue } from '@dovetail/core-api/testing';
import { ChurnGuard } from '@dovetail/core-cluster';
import { podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test, vi } from 'vitest';

import { listenersOf } from '../testing/listeners.js';
import { binValue, planValue } from '../testing/values.js';
import { Judge } from './judge.js';
import type { CheckBin } from './judged.js';
import { LaterBins } from './later-bins.js';
import { AdmissionMemory } from './ledger.js';
import { catalog, clusterOf, noVainPools, noVainTypes, sha256Hex } from './testing/judging.js';

const binsOf = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    binValue(`bin-${String(index)}`, [`p${String(index)}`], { topologyGroups: ['zone'] }),
  );

/** Judges bins of one group, one at a time, and tells how often a pod was looked up for them. */
function judging(count: number, check: CheckBin = () => []) {
  const cluster = clusterOf();
  const bins = binsOf(count);
  for (const { podUids } of bins) for (const uid of podUids) cluster.set('pod', podValue(uid));
  const memory = new AdmissionMemory();
  const churn = new ChurnGuard(cluster);
  const judge = new Judge(
    {
      cluster,
      catalog,
      memory,
      churn,
      vainTypes: noVainTypes,
      vainPools: noVainPools,
      check,
      sha256Hex,
    },
    { planAgeMaxMs: 60_000, promiseMs: 1, replacementPromiseMs: 1 },
    { admission: { epoch: 1, number: 2 }, nowMs: 1_000, nodes: [] },
  );
  const looks = vi.spyOn(cluster.pods, 'get');
  const plan = planValue('plan');
  return {
    cluster,
    looks,
    judged: judge.judge({ ...plan, plan: { ...plan.plan, newNodes: bins } }),
  };
}

describe('the bins of one group', () => {
  test('are each read a few times in all, not once for each bin before them', () => {
    const looksFor = (count: number): number => {
      const { looks, judged } = judging(count);
      expect([...judged].map(({ kind }) => kind)).toEqual(Array(count).fill('new-node'));
      return looks.mock.calls.length;
    };
    // The first bin of all is later than none.
    expect(looksFor(201) - looksFor(101)).toBe(looksFor(101) - looksFor(1));
  });

  test('are asked about beside those that follow and still hold, also when that changes meanwhile', () => {
    const beside: string[][] = [];
    const { cluster, judged } = judging(5, (question) => {
      beside.push(question.beside.newNodes.map(({ id }) => id));
      expect(question.pods.map(({ uid }) => uid)).toEqual(
        [question.bin, ...question.beside.newNodes].flatMap(({ podUids }) => podUids),
      );
      return [];
    });
    judged.next();
    cluster.delete('pod', 'p3');
    judged.next();
    const promised = { 'dovetail.sh/promise': '{"podUids":["p4"],"admission":"1.1"}' };
    cluster.set('claim', claimValue('other', { annotations: promised }));
    judged.next();
    expect(beside).toEqual([['bin-1', 'bin-2', 'bin-3', 'bin-4'], ['bin-2', 'bin-4'], []]);
  });

  test('leave nothing behind that listens once their plan is judged, or given up', () => {
    const { cluster, judged } = judging(3);
    const listening = listenersOf(cluster);
    judged.next();
    expect(listening()).toBe(1);
    judged.return(undefined);
    expect(listening()).toBe(0);
  });
});

test('a bin that shares a pod with another is read each time, because either takes it', () => {
  const [first, second, third] = [
    binValue('first', ['a'], { topologyGroups: ['zone'] }),
    binValue('second', ['b'], { topologyGroups: ['zone', 'host'] }),
    binValue('third', ['a', 'c'], { topologyGroups: ['host', 'zone'] }),
  ];
  const taken = new Set<string>();
  const plan = planValue('plan');
  const later = new LaterBins(
    { plan: { ...plan.plan, newNodes: [first, second, third] } },
    {
      podsOf: (uids) => uids.map((uid) => podValue(uid)),
      stillHolds: ({ podUids }) => !podUids.some((uid) => taken.has(uid)),
    },
  );
  const ids = (bin: typeof first): readonly string[] =>
    later.beside(bin).newNodes.map(({ id }) => id);
  later.judging(first);
  expect(ids(first)).toEqual(['second', 'third']);
  taken.add('a');
  later.judging(second);
  expect(ids(second)).toEqual([]);
});
