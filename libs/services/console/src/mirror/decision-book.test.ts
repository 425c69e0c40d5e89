import { expect, test } from 'vitest';

import { decisionValue } from '../testing/console-stage.js';
import { DecisionBook } from './decision-book.js';

const about = (index: number) =>
  decisionValue('unschedulable', {
    id: `unschedulable/${String(index)}`,
    atMs: index,
    objects: [{ kind: 'Pod', name: 'p', namespace: 'default', uid: `p${String(index)}` }],
  });

test('the book keeps the last 2,000 decisions, and forgets what older ones said of pods', () => {
  const book = new DecisionBook();
  for (let index = 0; index < 2_100; index += 1) book.take(about(index));
  expect(book.whole('unschedulable/99')).toBeUndefined();
  expect(book.ofPod('p99')).toBeUndefined();
  expect(book.whole('unschedulable/100')).toBeDefined();
  expect(book.ofPod('p100')).toMatchObject({ why: 'unschedulable happened', atMs: 100 });
  expect(book.rows(3).map(({ id }) => id)).toEqual([
    'unschedulable/2097',
    'unschedulable/2098',
    'unschedulable/2099',
  ]);
});

test('what is fresh is told once', () => {
  const book = new DecisionBook();
  book.take(about(1));
  expect(book.takeFresh()).toHaveLength(1);
  expect(book.takeFresh()).toEqual([]);
});
