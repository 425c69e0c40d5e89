import { poolValue } from '@dovetail/core-api/testing';
import { type CatalogView, Cluster } from '@dovetail/core-cluster';
import type { Resources } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { existingNodeValue } from '@dovetail/core-scheduling/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { AdmissionMemory, Ledger } from './ledger.js';

const minute = 60_000;
const second = 1_000;

describe("the leader's memory", () => {
  test('counts the launches of a pool in the last minute, and of no other pool', () => {
    const memory = new AdmissionMemory();
    memory.launched('a', 0);
    memory.launched('a', 30 * second);
    memory.launched('b', 30 * second);
    const counts = [30 * second, minute - 1, minute, 90 * second];
    expect(counts.map((nowMs) => memory.launchesLastMinute('a', nowMs))).toEqual([2, 2, 1, 0]);
  });
  test.each([
    ['at once', 0, 'plan'],
    ['until the watches must have shown it', 10 * second - 1, 'plan'],
    ['not after that', 10 * second, undefined],
  ])('knows the plan that replaced a node %s', (_sentence, nowMs, planId) => {
    const memory = new AdmissionMemory();
    memory.replaced(['pod'], 'plan', 0);
    expect(memory.replacedBy('pod', nowMs)).toBe(planId);
    expect(memory.replacedBy('other', nowMs)).toBeUndefined();
  });
  test('knows the last admission that touched a group, whatever came before', () =>
    fc.assert(
      fc.property(
        fc.array(fc.subarray(['x', 'y', 'z']), { minLength: 1, maxLength: 8 }),
        (rounds) => {
          const memory = new AdmissionMemory();
          rounds.forEach((groups, number) => {
            memory.touch(groups, { epoch: 1, number }, `plan-${number}`);
          });
          for (const group of ['x', 'y', 'z']) {
            const last = rounds.findLastIndex((groups) => groups.includes(group));
            expect(memory.touched.get(group)?.admission.number).toBe(last < 0 ? undefined : last);
          }
        },
      ),
    ));
});

test('a trial that does not hold leaves memory and ledger as they were, and one that holds stays', () => {
  const cluster = new Cluster();
  const known = { ...existingNodeValue('n'), uid: 'n' };
  const state = (memory: AdmissionMemory, ledger: Ledger): unknown => [
    memory.replacedBy('pod', 1),
    memory.launchesLastMinute('p', 1),
    [...memory.touched.keys()],
    ledger.nodes.map(({ name, reserved }) => [name, reserved]),
    ledger.promisedTo('waiting'),
  ];
  const taken = (holds: boolean): { readonly before: unknown; readonly after: unknown } => {
    const memory = new AdmissionMemory();
    const ledger = new Ledger(
      cluster,
      { revision: '1', typesOf: () => new Map() },
      { nowMs: 1, nodes: [known] },
    );
    const before = state(memory, ledger);
    const trials = [memory.trial, ledger.trial];
    for (const trial of trials) trial.begin();
    memory.replaced(['pod'], 'plan', 1);
    memory.launched('p', 1);
    memory.touch(['g'], { epoch: 1, number: 1 }, 'plan');
    ledger.replaceNode('n', { ...known, reserved: { cpu: 1 } });
    ledger.addNode({ ...known, uid: 'new', name: 'new', promisedPods: [podValue('waiting')] });
    ledger.replaceNode('n', { ...known, reserved: { cpu: 2 } });
    for (const trial of trials) trial.settle(holds);
    return { before, after: state(memory, ledger) };
  };
  expect(taken(false).after).toEqual(taken(false).before);
  expect(taken(true).after).toEqual([
    'plan',
    1,
    ['g'],
    [
      ['n', { cpu: 2 }],
      ['new', {}],
    ],
    'new',
  ]);
});

describe('the limits of a pool in a round', () => {
  const catalog: CatalogView = { revision: '1', typesOf: () => new Map() };
  const ledgerOf = (): Ledger => new Ledger(new Cluster(), catalog, { nowMs: 0, nodes: [] });
  const law = 'an admitted node is within the limits of its pool';

  test.each<[string, Resources, Resources, Resources | string]>([
    ['cover what is within them', { cpu: 8, nodes: 2 }, { cpu: 3, nodes: 1 }, { cpu: 5, nodes: 1 }],
    ['may be used up', { cpu: 8 }, { cpu: 8 }, { cpu: 0 }],
    ['do not concern other resources', { cpu: 8 }, { cpu: 1, memory: 9 }, { cpu: 7 }],
    ['never go below zero', { cpu: 8 }, { cpu: 9 }, law],
    ['never go below zero in one resource', { cpu: 8, nodes: 0 }, { cpu: 1, nodes: 1 }, law],
    ['admit none once they are overdrawn', { cpu: -1 }, { cpu: 0 }, law],
  ])('%s', (_sentence, limits, amount, expected) => {
    const ledger = ledgerOf();
    const pool = poolValue('default', { limits });
    if (typeof expected === 'string') expect(() => ledger.use(pool, amount)).toThrow(expected);
    else {
      ledger.use(pool, amount);
      expect(ledger.remaining(pool)).toEqual(expected);
    }
  });

  test('are what each use leaves, and a refused one changes nothing', () =>
    fc.assert(
      fc.property(fc.nat({ max: 30 }), fc.array(fc.nat({ max: 9 })), (cpu, uses) => {
        const ledger = ledgerOf();
        const pool = poolValue('default', { limits: { cpu } });
        let left = cpu;
        for (const use of uses) {
          if (use <= left) {
            ledger.use(pool, { cpu: use });
            left -= use;
          } else expect(() => ledger.use(pool, { cpu: use })).toThrow(law);
          expect(ledger.remaining(pool)).toEqual({ cpu: left });
        }
      }),
      { seed: 1 },
    ));
});
