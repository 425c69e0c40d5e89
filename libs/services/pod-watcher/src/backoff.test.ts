import { expect, test } from 'vitest';

import { Backoff } from './backoff.js';

/** A verdict on a pod: when it came, and when its batch was cut. */
type Judged = readonly [pod: string, atMs: number, cutMs: number];

/** When each pod comes back after these verdicts, and changes that help at these times. */
function comesBack(
  judged: readonly Judged[],
  helpedMs: readonly number[],
): Readonly<Record<string, number>> {
  const backoff = new Backoff({
    refused: { firstMs: 20, mostMs: 5_000 },
    unplaced: { firstMs: 5_000, mostMs: 300_000 },
    alone: { firstMs: 60_000, mostMs: 3_600_000 },
  });
  const back: Record<string, number> = {};
  for (let nowMs = 0; nowMs <= 10_000; nowMs += 10) {
    for (const [podUid, atMs, cutMs] of judged)
      if (atMs === nowMs)
        backoff.apply({ podUid, outcome: 'unplaced', reasons: [] } as never, nowMs, cutMs);
    if (helpedMs.includes(nowMs)) backoff.retryUnplaced(nowMs);
    for (const [podUid, atMs] of judged)
      if (nowMs >= atMs && !backoff.waits(podUid, nowMs)) back[podUid] ??= nowMs;
  }
  return back;
}

test.each<[string, readonly Judged[], readonly number[], Readonly<Record<string, number>>]>([
  ['alone it waits five seconds', [['a', 0, 0]], [], { a: 5_000 }],
  ['a change brings it back at once', [['a', 0, 0]], [2_000], { a: 2_000 }],
  ['it rests for half a second all the same', [['a', 0, 0]], [100], { a: 500 }],
  [
    'pods that were judged one after the other come back together after a change',
    [
      ['a', 0, 0],
      ['b', 300, 300],
    ],
    [400],
    { a: 800, b: 800 },
  ],
  [
    'a pod that is judged after the change, on a batch of before, takes the resting ones along',
    [
      ['a', 0, 0],
      ['b', 450, 50],
    ],
    [100],
    { a: 950, b: 950 },
  ],
  [
    'verdicts that keep coming hold nobody up for longer than a second and a half after the change',
    [
      ['a', 0, 0],
      ['b', 450, 50],
      ['c', 900, 50],
      ['d', 1_350, 50],
    ],
    [100],
    { a: 1_400, b: 1_400, c: 1_400, d: 1_850 },
  ],
])('%s', (_sentence, judged, helpedMs, expected) =>
  expect(comesBack(judged, helpedMs)).toEqual(expected),
);
