import type { StateEvent } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { RefusedPlans } from './refused-plans.js';

const refusalOf = (planId: string, podUid: string, reason: string): StateEvent =>
  ({
    kind: 'record',
    record: {
      kind: 'set',
      state: {
        kind: 'verdict',
        value: { planId, podUid, outcome: 'refused', reasons: [{ message: reason }] },
      },
    },
  }) as unknown as StateEvent;
const on = (uid: string, ...podUids: readonly string[]) => ({
  node: { uid },
  pods: podUids.map((pod) => ({ uid: pod })),
});

test('a node hears why the plan of its last asking was refused, for pods that it has', () => {
  const plans = new RefusedPlans();
  const heard: (readonly string[])[] = [];
  const end = plans.subscribe((nodeUids) => heard.push(nodeUids));
  plans.noteAnswer({ uid: 'n1' }, { askedMs: 5, planId: 'p' });
  plans.noteAnswer({ uid: 'n2' }, { askedMs: 6, planId: 'p' });
  plans.apply(refusalOf('p', 'a', 'the pool is full'));
  plans.apply(refusalOf('q', 'b', 'of another plan'));
  const reasons = [
    plans.reasonFor({ askedMs: 5 }, on('n1', 'a', 'b')),
    plans.reasonFor({ askedMs: 6 }, on('n2', 'b')),
    plans.reasonFor({ askedMs: 9 }, on('n1', 'a')),
    plans.reasonFor({}, on('n1', 'a')),
    plans.reasonFor({ planId: 'q' }, on('n1')),
  ];
  expect(reasons).toEqual(['the pool is full', undefined, undefined, undefined, 'of another plan']);
  expect(heard).toEqual([['n1', 'n2']]);
  end();
  plans.apply(refusalOf('p', 'b', 'again'));
  expect(heard).toHaveLength(1);
});

test('the oldest plans are forgotten', () => {
  const plans = new RefusedPlans();
  for (let index = 0; index <= 1_000; index += 1) {
    const id = String(index);
    plans.noteAnswer({ uid: id }, { askedMs: 1, planId: id });
    plans.apply(refusalOf(id, 'a', 'full'));
  }
  const known = ['0', '1', '1000'].map((id) => plans.reasonFor({ askedMs: 1 }, on(id, 'a')));
  expect(known).toEqual([undefined, 'full', 'full']);
});
