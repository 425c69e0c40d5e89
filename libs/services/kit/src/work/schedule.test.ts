import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Schedule } from './schedule.js';

describe('a schedule', () => {
  test('keeps the earliest time that was asked for', () => {
    const schedule = new Schedule();
    schedule.add('a', 10);
    schedule.add('a', 5);
    schedule.add('a', 20);
    expect([schedule.nextMs(), schedule.size]).toEqual([5, 1]);
    expect([schedule.takeDue(4), schedule.takeDue(5), schedule.takeDue(20)]).toEqual([
      [],
      ['a'],
      [],
    ]);
  });

  test('takes keys of one time in the order in which they came', () => {
    const schedule = new Schedule();
    for (const key of ['c', 'a', 'b']) schedule.add(key, 1);
    expect(schedule.takeDue(1)).toEqual(['c', 'a', 'b']);
  });

  test('is empty after it was cleared', () => {
    const schedule = new Schedule();
    schedule.add('a', 1);
    schedule.clear();
    expect([schedule.size, schedule.has('a'), schedule.nextMs()]).toEqual([0, false, undefined]);
  });

  const add = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    atMs: fc.integer({ min: 0, max: 20 }),
  });
  const take = fc.record({ takeMs: fc.integer({ min: 0, max: 20 }) });

  test('answers like a plain map, whatever is added and taken', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(add, take), { maxLength: 60 }), (steps) => {
        const schedule = new Schedule();
        const plain = new Map<string, { readonly atMs: number; readonly order: number }>();
        steps.forEach((step, order) => {
          if ('key' in step) {
            schedule.add(step.key, step.atMs);
            const held = plain.get(step.key);
            if (held === undefined || held.atMs > step.atMs)
              plain.set(step.key, { atMs: step.atMs, order });
          } else {
            const due = [...plain]
              .filter(([, { atMs }]) => atMs <= step.takeMs)
              .sort(([, a], [, b]) => a.atMs - b.atMs || a.order - b.order)
              .map(([key]) => key);
            for (const key of due) plain.delete(key);
            expect(schedule.takeDue(step.takeMs)).toEqual(due);
          }
          const times = [...plain.values()].map(({ atMs }) => atMs);
          expect(schedule.nextMs()).toBe(times.length === 0 ? undefined : Math.min(...times));
          expect(schedule.size).toBe(plain.size);
        });
      }),
    );
  });
});
