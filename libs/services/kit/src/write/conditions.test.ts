import type { Condition, ConditionStatus } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { outside } from '../testing/outside.js';
import {
  changeConditions,
  conditionObjects,
  conditionsIn,
  withCondition,
  withoutCondition,
  withRoot,
} from './conditions.js';

const held = (type: string, status: ConditionStatus = 'True', reason = 'r'): Condition => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionMs: 1_000,
});

describe('setting a condition', () => {
  test.each([
    ['that is new', { type: 'B', status: 'True', reason: 'r' }, 5_000],
    ['whose status changes', { type: 'A', status: 'False', reason: 'r' }, 5_000],
    ['whose reason changes', { type: 'A', status: 'True', reason: 's' }, 1_000],
    ['whose message changes', { type: 'A', status: 'True', reason: 'r', message: 'm' }, 1_000],
  ] as const)('%s dates its transition', (_what, next, lastTransitionMs) => {
    const set = withCondition([held('A')], next, 5_000).find(({ type }) => type === next.type);
    expect(set).toEqual({ message: '', ...next, lastTransitionMs });
  });

  test('to what it says already answers the same list', () => {
    const conditions = [held('A')];
    expect(withCondition(conditions, held('A'), 5_000)).toBe(conditions);
  });

  test('cuts its message at 1,024 characters and then counts as equal', () => {
    const long = { ...held('A'), message: 'm '.repeat(700) };
    const set = withCondition([], long, 5_000);
    expect(set[0]?.message).toHaveLength(1_024);
    expect(withCondition(set, long, 6_000)).toBe(set);
  });

  test('away takes one out, and answers the same list when it is not held', () => {
    const conditions = [held('A'), held('B')];
    expect(withoutCondition(conditions, 'A')).toEqual([held('B')]);
    expect(withoutCondition(conditions, 'C')).toBe(conditions);
  });
});

describe('Ready', () => {
  const steps = ['Launched', 'Registered'];
  test.each<[string, readonly Condition[], ConditionStatus, string, string]>([
    ['all steps are true', steps.map((step) => held(step)), 'True', 'Ready', ''],
    [
      'a step is missing',
      [held('Launched')],
      'Unknown',
      'ReconcilingDependents',
      'Registered=Unknown',
    ],
    [
      'a step is false',
      [held('Launched', 'False')],
      'False',
      'UnhealthyDependents',
      'Launched=False, Registered=Unknown',
    ],
  ])('when %s', (_what, conditions, status, reason, message) => {
    const ready = withRoot(conditions, steps, 5_000).find(({ type }) => type === 'Ready');
    expect(ready).toEqual({ type: 'Ready', status, reason, message, lastTransitionMs: 5_000 });
  });
});

describe('conditions of the API', () => {
  const arbitrary = fc.record({
    type: fc.stringMatching(/^[A-Z][a-z]{0,8}$/),
    status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
    reason: fc.stringMatching(/^[A-Z][a-z]{0,8}$/),
    message: fc.string(),
    lastTransitionMs: fc.integer({ min: 0, max: 4_000_000_000 }).map((second) => second * 1_000),
  });

  test('read back as they were written, in whole seconds', () => {
    fc.assert(
      fc.property(fc.array(arbitrary), (conditions) => {
        expect(conditionsIn({ status: { conditions: conditionObjects(conditions) } })).toEqual(
          conditions,
        );
      }),
    );
  });

  test.each([
    ['no status', {}],
    ['no list', { status: { conditions: 'none' } }],
    ['a condition without a type', { status: { conditions: [{ status: 'True' }] } }],
    ['a status of no meaning', { status: { conditions: [{ type: 'A', status: 'yes' }] } }],
    ['null', { status: { conditions: [null] } }],
  ])('leave out %s', (_what, object) => {
    expect(conditionsIn(object)).toEqual([]);
  });

  test('without a reason are written with their type as the reason', () => {
    expect(conditionObjects([held('Launched', 'True', '')])).toMatchObject([
      { reason: 'Launched', lastTransitionTime: '1970-01-01T00:00:01Z' },
    ]);
  });

  test('are written when they change, beside those of others', async () => {
    const { kube } = outside();
    const resource = kubeResources.nodes;
    const made = await kube.create(resource, { metadata: { name: 'n' } });
    const ref = { resource, name: 'n', uid: made.metadata.uid as string };
    const set = (type: string) =>
      changeConditions(kube, ref, (conditions) => withCondition(conditions, held(type), 1_000));
    await set('A');
    const second = await set('B');
    expect(conditionsIn(second ?? {}).map(({ type }) => type)).toEqual(['A', 'B']);
    const third = await set('B');
    expect(third?.metadata.resourceVersion).toBe(second?.metadata.resourceVersion);
  });
});
