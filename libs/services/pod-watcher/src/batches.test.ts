import { podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { type Arrival, Batches } from './batches.js';
import { defaultPodWatcherConfig } from './config.js';

/**
 * The time at which a group leaves whose pods come at these times, and how many pods it takes
 * along.
 */
function leaves(cameMs: readonly number[], arrivalOf: (pods: number) => Arrival): string {
  const batches = new Batches(defaultPodWatcherConfig);
  const coming = cameMs.map((atMs) => ({ atMs, pod: podValue(`pod-${atMs}`) }));
  for (let nowMs = 0; nowMs <= 11_000; nowMs += 10) {
    const pods = coming.filter(({ atMs }) => atMs <= nowMs).map(({ pod }) => pod);
    const groups = new Map(pods.length === 0 ? [] : [['g', pods]]);
    const [cut] = batches.cut(groups, (there) => arrivalOf(there.length), nowMs).cuts;
    if (cut !== undefined) return `${cut.pods.length} at ${nowMs}`;
  }
  return 'never';
}
const every = (ms: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => index * ms);

test('a group that nothing is heard of is cut again, later each time, and soon again once something was', () => {
  const batches = new Batches({ ...defaultPodWatcherConfig, patiencePerPodMs: 0 });
  const groups = new Map([['g', [podValue('a')]]]);
  const cutsUntil = (fromMs: number, toMs: number): readonly number[] => {
    const times: number[] = [];
    for (let nowMs = fromMs; nowMs <= toMs; nowMs += 1_000)
      if (batches.cut(groups, () => 'complete', nowMs).cuts.length > 0) times.push(nowMs);
    return times;
  };
  expect(cutsUntil(0, 200_000)).toEqual([0, 5_000, 15_000, 35_000, 75_000, 135_000, 195_000]);
  batches.settled('a');
  expect(cutsUntil(201_000, 210_000)).toEqual([201_000, 206_000]);
});

describe('a group leaves', () => {
  test.each<[string, readonly number[], (pods: number) => Arrival, string]>([
    [
      'at once when nothing more will come',
      [0, 200],
      (pods) => (pods === 2 ? 'complete' : 'arriving'),
      '2 at 200',
    ],
    ['soon after the last pod when nothing is known', [0, 20, 50], () => 'unknown', '3 at 90'],
    ['after a second of pods that nobody announced', every(30, 500), () => 'unknown', '34 at 1000'],
    [
      'after a second of silence while an owner still makes pods',
      [0, 900, 1_500],
      () => 'arriving',
      '3 at 2500',
    ],
    [
      'after ten seconds of pods that an owner still makes',
      every(100, 500),
      () => 'arriving',
      '101 at 10000',
    ],
    [
      'at once when an owner has made the last',
      every(50, 100),
      (pods) => (pods === 100 ? 'complete' : 'arriving'),
      '100 at 4950',
    ],
  ])('%s', (_sentence, cameMs, arrivalOf, expected) =>
    expect(leaves(cameMs, arrivalOf)).toBe(expected),
  );
});
