import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { daemon, nowMs, pod } from '../testing/objects.js';
import { attachmentsToAwait, drainTier, planDrain } from './drain.js';

fc.configureGlobal({ seed: 1 });

const critical = { priorityClassName: 'system-cluster-critical' };
const sized = (cpu: number, gibibytes: number) => ({
  requests: { cpu, memory: gibibytes * 2 ** 30 },
});
const evicted = (pods: readonly Pod[], deadlineMs?: number) =>
  planDrain(pods, { nowMs, ...(deadlineMs === undefined ? {} : { deadlineMs }) }).evict.map(
    ({ name }) => name,
  );

describe('draining', () => {
  test.each<[string, readonly Pod[], readonly string[]]>([
    [
      'ordinary pods before daemons before critical ones',
      [pod('c', critical), daemon('d'), pod('b'), pod('a')],
      ['a', 'b'],
    ],
    [
      'large pods before small ones, whichever resource makes them large',
      [pod('a', sized(100, 1)), pod('b', sized(2_000, 1)), pod('c', sized(100, 16))],
      ['c', 'b', 'a'],
    ],
    ['daemons once ordinary pods are gone', [pod('c', critical), daemon('d')], ['d']],
    ['critical pods before critical daemons', [daemon('dc', critical), pod('c', critical)], ['c']],
    [
      'nothing of a later tier while an earlier is terminating',
      [pod('a', { deletionMs: nowMs + 10_000 }), daemon('d')],
      [],
    ],
    [
      'a pod that is stuck for a minute is not waited for',
      [pod('a', { deletionMs: nowMs - 60_000 }), daemon('d')],
      ['d'],
    ],
    ['no static pod', [pod('m', { mirror: true })], []],
    [
      'no pod that tolerates the taint',
      [pod('t', { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists' }] })],
      [],
    ],
    ['no ended pod', [pod('s', { phase: 'Failed' })], []],
    [
      'no protected pod, and nothing after it',
      [pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), daemon('d')],
      [],
    ],
  ])('evicts %s', (_what, pods, names) => expect(evicted(pods)).toEqual(names));

  test.each<[string, number | undefined, boolean]>([
    ['was seen first a moment ago', nowMs - 1_000, true],
    ['was never seen before', undefined, true],
    ['had its grace and a minute more by our clock', nowMs - 90_000, false],
  ])('waits for a pod that seems stuck to a clock ahead, if it %s', (_when, seenMs, waits) => {
    const ending = pod('a', { deletionMs: nowMs - 60_000, terminationGracePeriodSeconds: 30 });
    const { waitingFor } = planDrain([ending], { nowMs, endingSeenMs: () => seenMs });
    expect(waitingFor.length > 0).toBe(waits);
  });

  test('is done when only pods that stay are left', () => {
    expect(
      planDrain(
        [
          pod('m', { mirror: true }),
          pod('s', { phase: 'Succeeded' }),
          pod('t', { tolerations: [{ operator: 'Exists' }] }),
        ],
        { nowMs },
      ).done,
    ).toBe(true);
    expect(
      planDrain([pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })], { nowMs }),
    ).toMatchObject({ done: false, waitingFor: [{ note: { code: 'pod-protected' } }] });
  });

  test.each<[string, Pod, number, readonly [string, number][]]>([
    ['before deadline less grace: not yet', pod('a'), nowMs + 30_000, []],
    ['after it: with what is left', pod('a'), nowMs + 29_000, [['a', 29]]],
    ['past the deadline: one second', pod('a'), nowMs - 5_000, [['a', 1]]],
    [
      'a pod without grace gets a second all the same',
      pod('a', { terminationGracePeriodSeconds: 0 }),
      nowMs - 1,
      [['a', 1]],
    ],
    ['a later tier too', daemon('d', critical), nowMs + 10_000, [['d', 10]]],
    [
      'a protected one too',
      pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
      nowMs + 10_000,
      [['p', 10]],
    ],
    [
      'a terminating one whose grace outlasts it',
      pod('a', { deletionMs: nowMs + 60_000 }),
      nowMs + 20_000,
      [['a', 20]],
    ],
    [
      'a terminating one that will be in time: left alone',
      pod('a', { deletionMs: nowMs + 10_000 }),
      nowMs + 20_000,
      [],
    ],
  ])('deletes at the deadline: %s', (_what, one, deadlineMs, forced) =>
    expect(
      planDrain([one], { nowMs, deadlineMs }).force.map(({ pod: { name }, gracePeriodSeconds }) => [
        name,
        gracePeriodSeconds,
      ]),
    ).toEqual(forced),
  );

  test('never touches two tiers at once without a deadline, and never forgets a pod it waits for', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ daemonic: fc.boolean(), important: fc.boolean(), going: fc.boolean() }),
          { maxLength: 12 },
        ),
        (specs) => {
          const pods = specs.map(({ daemonic, important, going }, index) =>
            (daemonic ? daemon : pod)(`p${String(index)}`, {
              ...(important ? critical : {}),
              ...(going ? { deletionMs: nowMs + 5_000 } : {}),
            }),
          );
          const plan = planDrain(pods, { nowMs });
          const tiers = new Set(
            plan.evict.map((one) => `${String(one.priorityClassName)}/${one.owner?.kind ?? ''}`),
          );
          return (
            tiers.size <= 1 &&
            plan.waitingFor.length === pods.length &&
            plan.done === (pods.length === 0)
          );
        },
      ),
    ));

  test('attachments of pods that stay are not waited for', () => {
    const attachment = (name: string, volumeName: string) => ({
      uid: name,
      name,
      resourceVersion: '1',
      nodeName: 'n1',
      volumeName,
    });
    expect(
      attachmentsToAwait([attachment('b', 'v2'), attachment('a', 'v1')], new Set(['v1'])).map(
        ({ name }) => name,
      ),
    ).toEqual(['b']);
  });
});

describe('tiers', () => {
  test.each([
    [pod('a'), 0],
    [daemon('d'), 1],
    [pod('c', critical), 2],
    [daemon('dc', critical), 3],
  ])('%#: the later tier is drained later', (one, tier) => expect(drainTier(one)).toBe(tier));
});

describe('a forced deletion', () => {
  test('leaves a second of grace at least and the pod its own grace at most', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: -100_000, max: 100_000 }),
        fc.nat({ max: 600 }),
        (leftMs, terminationGracePeriodSeconds) => {
          const one = pod('a', { terminationGracePeriodSeconds });
          const { force } = planDrain([one], { nowMs, deadlineMs: nowMs + leftMs });
          for (const { gracePeriodSeconds } of force) {
            expect(gracePeriodSeconds).toBeGreaterThanOrEqual(1);
            expect(gracePeriodSeconds).toBeLessThanOrEqual(
              Math.max(1, terminationGracePeriodSeconds),
            );
          }
          expect(force).toHaveLength(leftMs < terminationGracePeriodSeconds * 1000 ? 1 : 0);
        },
      ),
    ));

  test('and an eviction never meet in one pod', () => {
    const pods = [pod('a', { terminationGracePeriodSeconds: 600 }), pod('b')];
    const plan = planDrain(pods, { nowMs, deadlineMs: nowMs + 60_000 });
    expect([plan.force.map((one) => one.pod.name), plan.evict.map(({ name }) => name)]).toEqual([
      ['a'],
      ['b'],
    ]);
  });
});
