import { expect, test } from 'vitest';

import { Promises } from './promises.js';

const promise = (podUids: readonly string[], untilMs = 1_000) => ({ podUids, untilMs });
const uids = ['a', 'b', 'c'];
const heldAt = (promises: Promises, nowMs: number): readonly string[] =>
  uids.filter((uid) => promises.has(uid, nowMs));

type Step = [string, (promises: Promises) => void, readonly string[]];

test.each<Step>([
  ['an annotation names it', (all) => all.written('n', promise(['a', 'b'])), ['a', 'b']],
  ['a record of the feed names it', (all) => all.published('n', promise(['a'])), ['a']],
  ['it was admitted a moment ago', (all) => all.judged('c', 0), ['c']],
])('a pod has promised room when %s', (_when, step, held) => {
  const promises = new Promises(() => true);
  step(promises);
  expect(heldAt(promises, 500)).toEqual(held);
});

test.each<Step>([
  [
    'another value of the annotation leaves it out',
    (all) => all.written('n', promise(['b'])),
    ['b'],
  ],
  ['the annotation is gone', (all) => all.written('n', undefined), []],
  ['the holder is gone', (all) => all.forget('n'), []],
  ['another holder still names it', (all) => all.written('m', undefined), ['a', 'b']],
])('a promise that was written counts as it is now: %s', (_when, step, held) => {
  const promises = new Promises(() => true);
  promises.written('n', promise(['a', 'b']));
  promises.written('m', promise(['a']));
  promises.written('m', undefined);
  step(promises);
  expect(heldAt(promises, 500)).toEqual(held);
});

test('a pod named by annotation and feed keeps its room when the feed is lost', () => {
  const promises = new Promises(() => true);
  const same = promise(['a']);
  promises.written('n', same);
  promises.published('n', same);
  promises.forgetPublished();
  expect(heldAt(promises, 500)).toEqual(['a']);
});

test('promises and admissions end, and the next end is told', () => {
  const promises = new Promises(() => true);
  promises.written('n', promise(['a']));
  promises.judged('b', 0);
  expect([promises.nextEndMs(500), promises.nextEndMs(5_000)]).toEqual([1_000, 10_000]);
  expect(heldAt(promises, 5_000)).toEqual(['b']);
  expect(heldAt(promises, 10_000)).toEqual([]);
});

test('a question about one pod costs the promises that name it, not those of all nodes', () => {
  let looked = 0;
  const promises = new Promises(() => {
    looked += 1;
    return true;
  });
  const replaces = { nodeUid: 'old', nodeName: 'old' };
  for (let node = 0; node < 500; node += 1)
    promises.written(`n${node}`, { ...promise([`p${node}`]), replaces });
  expect(promises.has('p7', 500)).toBe(true);
  expect(looked).toBe(1);
});
