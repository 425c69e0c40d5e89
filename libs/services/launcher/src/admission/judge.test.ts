import type { PlanCause } from '@dovetail/contracts';
import { annotations, renderPromise } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { ChurnGuard, Cluster, nodesNow } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import type { NewNode } from '@dovetail/core-scheduling';
import { describe, expect, test } from 'vitest';

import { binValue as bin, planValue } from '../testing/values.js';
import { Judge } from './judge.js';
import { type CheckBin, claimNameOf } from './judged.js';
import { AdmissionMemory } from './ledger.js';
import {
  catalog,
  clusterOf,
  judged,
  noVainPools,
  noVainTypes,
  pool,
  sha256Hex,
} from './testing/judging.js';

describe('a round', () => {
  test.each([
    [
      'bins are judged one by one',
      {},
      [bin('bin-0', ['a']), bin('bin-1', ['gone']), bin('bin-2', ['b'])],
      ['bin-0 small|large', 'bin-1 pod-gone', 'bin-2 small|large'],
    ],
    [
      'a pod is promised once',
      {},
      [bin('bin-0', ['a']), bin('bin-1', ['a', 'b'])],
      ['bin-0 small|large', 'bin-1 pod-promised'],
    ],
    [
      'limits hold whatever is launched, and what fits at the least is admitted',
      { limits: { cpu: 6000 } },
      [bin('bin-0', ['a']), bin('bin-1', ['b']), bin('bin-2', ['c'])],
      ['bin-0 small', 'bin-1 small', 'bin-2 small'],
    ],
    [
      'limits end with the room under them',
      { limits: { cpu: 4000 } },
      [bin('bin-0', ['a']), bin('bin-1', ['b']), bin('bin-2', ['c'])],
      ['bin-0 small', 'bin-1 small', 'bin-2 pool-limit'],
    ],
    [
      'a wide bin may use what is over',
      { limits: { cpu: 12_000 } },
      [bin('bin-0', ['a']), bin('bin-1', ['b'])],
      ['bin-0 small', 'bin-1 small|large'],
    ],
    [
      'launches per minute are counted within the round',
      { maxLaunchesPerMinute: 1 },
      [bin('bin-0', ['a']), bin('bin-1', ['b'])],
      ['bin-0 small|large', 'bin-1 launch-rate'],
    ],
    [
      'a pool that is not ready launches nothing',
      { ready: false },
      [bin('bin-0', ['a'])],
      ['bin-0 pool-not-ready'],
    ],
    [
      'a price cap drops what is dearer',
      { maxPriceMicrosPerHour: 2 },
      [bin('bin-0', ['a'])],
      ['bin-0 small'],
    ],
  ])('%s', (_sentence, change, bins, expected) =>
    expect(judged(clusterOf(change), bins)).toEqual(expected),
  );

  test('the checker sees what was admitted before, and what it finds refuses the bin', () => {
    const seen: number[] = [];
    const check: CheckBin = ({ nodes }) => {
      seen.push(nodes.length);
      return nodes.length > 1
        ? [{ code: 'topology-spread', where: 'bin-2', message: 'too many' }]
        : [];
    };
    expect(
      judged(clusterOf(), [bin('bin-0', ['a']), bin('bin-1', ['b']), bin('bin-2', ['c'])], check),
    ).toEqual(['bin-0 small|large', 'bin-1 small|large', 'bin-2 constraint-broken']);
    expect(seen).toEqual([0, 1, 2]);
  });

  test('companions that share a spread group are checked with the bin, others are not', () => {
    const beside: string[][] = [];
    const check: CheckBin = (question) => {
      beside.push(question.beside.newNodes.map((each) => each.id));
      return [];
    };
    judged(
      clusterOf(),
      [
        bin('bin-0', ['a'], { topologyGroups: ['zone'] }),
        bin('bin-1', ['b'], { topologyGroups: ['zone'] }),
        bin('bin-2', ['c']),
      ],
      check,
    );
    expect(beside).toEqual([['bin-1'], [], []]);
  });

  test('claims that exist count under the limits: launched ones by their size, others by their largest option', () => {
    const cluster = clusterOf({ limits: { cpu: 12_000 } });
    cluster.set('claim', claimValue('launched', { capacity: { cpu: 2000 } }));
    cluster.set(
      'claim',
      claimValue('waiting', {
        requirements: [
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['small', 'large'] },
        ],
      }),
    );
    expect(judged(cluster, [bin('bin-0', ['a']), bin('bin-1', ['b'])])).toEqual([
      'bin-0 small',
      'bin-1 pool-limit',
    ]);
  });
});

describe('a pool at its limit', () => {
  const full = { limits: { cpu: 2000 } };
  const at = (node: Parameters<typeof nodeValue>[1], claim: Parameters<typeof claimValue>[1]) => {
    const cluster = clusterOf(full);
    cluster.set(
      'claim',
      claimValue('c', { capacity: { cpu: 2000 }, providerId: 'aws:///a/i-1', ...claim }),
    );
    cluster.set('node', nodeValue('n', { providerId: 'aws:///a/i-1', ...node }));
    return judged(cluster, [bin('bin-0', ['a'])]);
  };
  const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

  test.each<[string, string, Parameters<typeof at>]>([
    ['takes no node beside one that stays', 'pool-limit', [{}, {}]],
    [
      'takes one beside an expired node that waits for its replacement',
      'small',
      [{ annotations: { [annotations.retirement]: '{"cause":"expired","atMs":1}' } }, {}],
    ],
    ['takes one beside a tainted node', 'small', [{ taints: [disrupted] }, {}]],
    ['takes one beside a node that is being deleted', 'small', [{ deletionMs: 1 }, {}]],
    ['takes one beside a claim that is being deleted', 'small', [{}, { deletionMs: 1 }]],
  ])('%s', (_sentence, answer, [node, claim]) =>
    expect(at(node, claim)).toEqual([`bin-0 ${answer}`]),
  );
});

describe('the replacement of a node', () => {
  const cause = { kind: 'replacement', nodeName: 'old', nodeUid: 'node-old', reason: 'x' } as const;
  const room = (podUids: readonly string[]) => ({
    [annotations.promise]: renderPromise({
      podUids: [],
      admission: '1.1',
      reserved: { cpu: 1 },
      forPodUids: podUids,
    }),
  });
  const clusterWith = (...holders: readonly ReturnType<typeof claimValue>[]): Cluster => {
    const cluster = new Cluster();
    cluster.set('pool', pool);
    cluster.set('node', nodeValue('old'));
    for (const uid of ['a', 'b', 'c'])
      cluster.set('pod', podValue(uid, { nodeName: 'old', phase: 'Running' }));
    for (const holder of holders) cluster.set('claim', holder);
    return cluster;
  };
  const judgeOf = (cluster: Cluster, memory = new AdmissionMemory()) => {
    const churn = new ChurnGuard(cluster);
    const guards = { churn, vainTypes: noVainTypes, vainPools: noVainPools, check: () => [] };
    const deps = { cluster, catalog, memory, ...guards };
    return new Judge(
      { ...deps, sha256Hex },
      { planAgeMaxMs: 60_000, promiseMs: 1, replacementPromiseMs: 1 },
      { admission: { epoch: 1, number: 2 }, nowMs: 1_000, nodes: nodesNow(cluster, catalog, 0) },
    );
  };
  const answers = (judge: Judge, id: string, ...newNodes: readonly NewNode[]) =>
    answersTo({ judge, id, cause }, newNodes);
  const answersTo = (
    to: { readonly judge: Judge; readonly id: string; readonly cause: PlanCause },
    newNodes: readonly NewNode[],
  ) => {
    const { judge } = to;
    const plan = planValue(to.id, { cause: to.cause });
    return [...judge.judge({ ...plan, plan: { ...plan.plan, newNodes } })].map((each) =>
      each.kind === 'refused' ? each.reasons[0]?.code : each.kind,
    );
  };

  test.each<[string, Cluster, readonly (string | undefined)[]]>([
    ['is admitted once for each of its pods', clusterWith(), ['new-node', 'new-node']],
    [
      'is refused for a pod that has room already, and admitted for the others',
      clusterWith(claimValue('c', { annotations: room(['a', 'c']) })),
      ['already-replaced', 'new-node'],
    ],
    [
      'is admitted again once the claim of the first is going',
      clusterWith(claimValue('c', { annotations: room(['a']), deletionMs: 1 })),
      ['new-node', 'new-node'],
    ],
  ])('%s', (_sentence, cluster, expected) =>
    expect(answers(judgeOf(cluster), 'p', bin('bin-0', ['a']), bin('bin-1', ['b']))).toEqual(
      expected,
    ),
  );

  test.each<[string, readonly string[], readonly string[]]>([
    ['is refused whole if one of its bins is', ['a', 'gone'], ['command-incomplete', 'pod-gone']],
    ['is admitted whole if all of its bins hold', ['a', 'b'], ['new-node', 'new-node']],
  ])('by a command %s', (_sentence, podUids, expected) => {
    const judge = judgeOf(clusterWith());
    const bins = podUids.map((uid, index) => bin(`bin-${String(index)}`, [uid]));
    expect(answersTo({ judge, id: 'p', cause: { ...cause, command: 'c' } }, bins)).toEqual(
      expected,
    );
  });

  test('by a command that is refused whole takes nothing from the next plan', () => {
    const judge = judgeOf(clusterWith());
    const held = bin('bin-0', ['a']);
    const command = { ...cause, command: 'c' };
    expect(answersTo({ judge, id: 'p', cause: command }, [held, bin('bin-1', ['gone'])])).toEqual([
      'command-incomplete',
      'pod-gone',
    ]);
    expect(answersTo({ judge, id: 'q', cause: command }, [held])).toEqual(['new-node']);
  });

  test('is refused to another plan before any watch shows the first', () => {
    const judge = judgeOf(clusterWith());
    expect(answers(judge, 'first', bin('bin-0', ['a']))).toEqual(['new-node']);
    expect(answers(judge, 'second', bin('bin-0', ['a', 'b']), bin('bin-1', ['c']))).toEqual([
      'already-replaced',
      'new-node',
    ]);
  });
});

describe("a claim's name", () => {
  test.each([
    ['follows from admission, plan and bin', 'general', /^general-[0-9a-f]{12}$/],
    ['stays a DNS name for long pool names', 'x'.repeat(80), /^x{46}-[0-9a-f]{12}$/],
    ['and for names with dots', 'team.a', /^team-a-[0-9a-f]{12}$/],
  ])('%s', (_sentence, poolName, pattern) => {
    const name = (number: number): string =>
      claimNameOf(
        { poolName, admission: { epoch: 1, number }, planId: 'p', binId: 'bin-0' },
        sha256Hex,
      );
    expect(name(1)).toMatch(pattern);
    expect(name(1)).toBe(name(1));
    expect(name(1)).not.toBe(name(2));
  });
});
