import { annotations } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { claim, nowMs } from '../testing/objects.js';
import {
  destinationsOf,
  movedHereAnnotation,
  movedHereBy,
  parseMovedHere,
  renderMovedHere,
  restraintOn,
} from './restraint.js';

const minute = 60_000;
const restraint = { movePauseMs: 30 * minute, nowMs };
/** A command that saves 0.10 $ an hour for a disruption cost of 2, so 50,000 for each. */
const command = (saved = 100_000, disruptionCost = 2) => ({
  priceBeforeMicrosPerHour: 300_000,
  priceAfterMicrosPerHour: 300_000 - saved,
  disruptionCost,
});
const receivedAt = (ageMs: number) =>
  claim('c1', {
    annotations: {
      [movedHereAnnotation]: renderMovedHere({
        atMs: nowMs - ageMs,
        savedMicrosPerHour: 100_000,
        disruptionCost: 2,
      }),
    },
  });
const bought = (ageMs: number) =>
  claim('c1', { createdMs: nowMs - ageMs, annotations: { [annotations.maxPricePerHour]: '0.5' } });

describe('a command is held back', () => {
  test.each([
    ['that gives up a node bought for a command a minute ago', bought(minute), command()],
    ['also if it would save much', bought(minute), command(299_999)],
    ['that moves pods again and saves as much as the first', receivedAt(minute), command()],
    ['that saves just too little for both', receivedAt(minute), command(199_999)],
    ['until the pause is over', receivedAt(30 * minute - 1), command()],
    ['by the mark of a leader whose clock is ahead', receivedAt(-60_000), command()],
  ])('%s', (_what, moved, next) =>
    expect(restraintOn(next, [claim('other'), moved], restraint)?.code).toBe('moved-recently'),
  );
});

describe('a command is let through', () => {
  test.each([
    ['if its nodes neither were bought nor received pods', claim('c1'), command()],
    ['if it pays for both moves', receivedAt(minute), command(200_000)],
    ['once the pause is over', receivedAt(30 * minute), command()],
    ['once the bought node is older than the pause', bought(30 * minute), command()],
    ['if the mark is of a time to come', receivedAt(-61_000), command()],
    [
      'if the mark cannot be read',
      claim('c1', { annotations: { [movedHereAnnotation]: '{"at":7}' } }),
      command(),
    ],
  ])('%s', (_what, moved, next) => expect(restraintOn(next, [moved], restraint)).toBeUndefined());

  test('at any time if the pause is zero', () => {
    const none = { movePauseMs: 0, nowMs };
    expect(restraintOn(command(), [receivedAt(0), bought(0)], none)).toBeUndefined();
  });
});

describe('the mark of a move', () => {
  test('reads back as it was written', () => {
    const moved = { atMs: nowMs, savedMicrosPerHour: 7, disruptionCost: 1.5 };
    expect(parseMovedHere(renderMovedHere(moved))).toEqual(moved);
  });

  test.each([undefined, '', 'x', '[]', '{"at":"2026-11-21T12:00:00Z"}', '{"at":"x"}'])(
    'is none if the text is %j',
    (text) => expect(parseMovedHere(text)).toBeUndefined(),
  );

  test('adds up with earlier moves that still count, and not with older ones', () => {
    expect(movedHereBy(command(), receivedAt(minute), restraint)).toEqual({
      atMs: nowMs,
      savedMicrosPerHour: 200_000,
      disruptionCost: 4,
    });
    expect(movedHereBy(command(), receivedAt(30 * minute), restraint)).toMatchObject({
      savedMicrosPerHour: 100_000,
    });
  });

  test('is for the running nodes that receive pods, each once', () => {
    const move = (
      podUid: string,
      to: Parameters<typeof destinationsOf>[0]['moves'][number]['to'],
    ) => ({ ...{ podUid, namespace: 'default', name: podUid, fromNodeUid: 'n' }, to });
    const node = { kind: 'node', nodeName: 'a', nodeUid: 'uid-a' } as const;
    const moves = [move('1', node), move('2', node), move('3', { kind: 'bin', binId: 'b' })];
    expect([...destinationsOf({ moves })]).toEqual(['uid-a']);
  });
});
