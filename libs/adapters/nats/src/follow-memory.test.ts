import { expect, test } from 'vitest';

import { FollowMemory } from './follow-memory.js';

type Step = (memory: FollowMemory) => void;
const deliver =
  (from: number, to: number): Step =>
  (memory) => {
    for (let sequence = from; sequence <= to; sequence += 1)
      memory.delivered(`s.${sequence}`, sequence, true);
  };
const told =
  (firstSequence: number, lastSequence: number): Step =>
  (memory) =>
    memory.told({ firstSequence, lastSequence });
const idle: Step = (memory) => memory.idle();
/** A message of the server that says nothing of what is on its way. */
const flowControl: Step = () => undefined;

function followed(steps: readonly Step[]): FollowMemory {
  const memory = new FollowMemory({ incarnation: 'i', lastSequence: 100, nowMs: 0 });
  deliver(1, 100)(memory);
  memory.caughtUp = true;
  for (const step of steps) step(memory);
  return memory;
}

test.each<[string, readonly Step[], boolean, number]>([
  [
    'in a burst, at a flow control request',
    [told(1, 200), deliver(101, 150), flowControl],
    false,
    151,
  ],
  [
    'in a burst, without a heartbeat since the last message',
    [told(1, 200), idle, deliver(101, 150)],
    false,
    151,
  ],
  ['at one heartbeat, which may be older than the ends', [told(1, 200), idle], false, 101],
  [
    'at two heartbeats, because the newest messages are gone',
    [told(1, 200), idle, idle],
    true,
    101,
  ],
  ['at the last message', [told(1, 200), deliver(101, 200), idle, idle], false, 201],
  ['without knowing the ends', [idle, idle], false, 101],
])('%s: raised or not, a follower resumes after what was delivered', (_, steps, raised, next) => {
  const memory = followed(steps);
  expect(memory.raise()).toBe(raised);
  expect(memory.position.lastSequence).toBe(raised ? 200 : next - 1);
  expect(memory.resumeFrom('last-per-subject')).toBe(next);
});

test.each<[string, readonly Step[], boolean]>([
  ['in the middle of a burst', [told(150, 200), deliver(101, 149), flowControl], false],
  ['when nothing is on its way', [told(150, 200), idle, idle], true],
  ['once everything up to the end has come', [told(150, 200), deliver(101, 200)], true],
  ['when all subjects are still there', [told(1, 200), deliver(101, 200)], false],
])('a purge is judged %s', (_, steps, purged) => expect(followed(steps).isPurged()).toBe(purged));

test.each<[string, 'now' | 'first' | 'last-per-subject', readonly Step[], number | undefined]>([
  ['of what is new', 'now', [], 101],
  ['of everything', 'first', [], undefined],
  ['of what is last', 'last-per-subject', [], undefined],
  ['of what is new, that has heard some', 'now', [deliver(101, 103)], 104],
])('a follower %s begins where it should', (_, from, steps, expected) => {
  const memory = new FollowMemory({ incarnation: 'i', lastSequence: 100, nowMs: 0 });
  for (const step of steps) step(memory);
  expect(memory.resumeFrom(from)).toBe(expected);
});
