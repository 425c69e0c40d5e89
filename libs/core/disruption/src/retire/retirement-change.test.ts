import { describe, expect, test } from 'vitest';

import type { Retirement } from '../facts/retirement-record.js';
import { answering, asking, beginning, commandOfRetirement } from './retirement-change.js';

const expired: Retirement = { cause: 'expired', atMs: 1_000 };
const asked: Retirement = { ...expired, askedMs: 2_000 };
const maintenance: Retirement = { cause: 'interrupted', atMs: 1_000, detail: 'scheduled_change' };
const spot: Retirement = {
  cause: 'interrupted',
  atMs: 5_000,
  deadlineMs: 115_000,
  detail: 'spot_interrupted',
};
const unhealthy: Retirement = {
  cause: 'unhealthy',
  atMs: 6_000,
  deadlineMs: 6_000,
  detail: 'StorageReady',
};
const stopping: Retirement = {
  ...spot,
  atMs: 6_000,
  deadlineMs: 6_000,
  detail: 'instance_stopped',
};

describe('beginning a retirement', () => {
  test.each<[string, Retirement | undefined, Retirement, Retirement | undefined]>([
    ['expiry beside an interruption changes nothing', spot, expired, undefined],
    ['expiry beside emptiness changes nothing', { ...expired, cause: 'empty' }, expired, undefined],
    ['a notice that came twice changes nothing', spot, { ...spot, atMs: 9_000 }, undefined],
    ['a notice without a deadline after one with it changes nothing', spot, maintenance, undefined],
    ['a later deadline changes nothing', spot, { ...spot, deadlineMs: 200_000 }, undefined],
    ['on a node that stays, it is written', undefined, expired, expired],
    ['a Spot notice takes over from expiry', expired, spot, spot],
    ['a Spot notice keeps what the expiry has asked for', asked, spot, { ...spot, askedMs: 2_000 }],
    [
      'a Spot notice forgets that the expiry found no place',
      { ...asked, answeredMs: 2_500, unplaced: 1 },
      spot,
      { ...spot, askedMs: 2_000 },
    ],
    [
      'a Spot notice keeps that the expiry found a place for all',
      { ...asked, answeredMs: 2_500 },
      spot,
      { ...spot, askedMs: 2_000, answeredMs: 2_500 },
    ],
    ['a Spot notice gives maintenance its deadline', maintenance, spot, spot],
    ['a repair takes over from expiry', expired, unhealthy, unhealthy],
    ['a repair brings the deadline of a Spot notice forward', spot, unhealthy, unhealthy],
    ['a Spot notice after a repair changes nothing', unhealthy, spot, undefined],
    ['expiry beside a repair changes nothing', unhealthy, expired, undefined],
    [
      'a repair that is decided twice changes nothing',
      unhealthy,
      { ...unhealthy, deadlineMs: 9_000 },
      undefined,
    ],
    ['an instance that is going already brings the deadline forward', spot, stopping, stopping],
  ])('%s', (_what, live, wanted, written) => expect(beginning(wanted)(live)).toEqual(written));
});

describe('asking for a replacement', () => {
  test.each<[string, Retirement | undefined, Retirement | undefined]>([
    ['a retirement that was given up stays given up', undefined, undefined],
    ['an interruption that came meanwhile keeps its deadline', spot, { ...spot, askedMs: 7_000 }],
    [
      'one that was asked for meanwhile is not asked for again',
      { ...spot, askedMs: 6_999 },
      undefined,
    ],
  ])('%s', (_what, live, written) => expect(asking(7_000, undefined)(live)).toEqual(written));

  test('the next asking follows on the last one that was seen', () =>
    expect(asking(7_000, 2_000)({ ...spot, askedMs: 2_000 })?.askedMs).toBe(7_000));

  const answer = { answeredMs: 2_500, unplaced: 1 };
  test.each<[string, Retirement | undefined, Retirement | undefined]>([
    ['ignores a retirement that was given up', undefined, undefined],
    ['ignores one that asked again since then', { ...asked, askedMs: 9_000 }, undefined],
    ['goes into the retirement that asked', asked, { ...asked, ...answer }],
    [
      'keeps the time of the first answer',
      { ...asked, answeredMs: 1_500 },
      { ...asked, ...answer, answeredMs: 1_500 },
    ],
    [
      'keeps the deadline of a notice that came before it',
      { ...spot, askedMs: 2_000 },
      { ...spot, askedMs: 2_000, ...answer },
    ],
  ])('its answer %s', (_what, live, written) =>
    expect(answering(2_000, answer)(live)).toEqual(written),
  );

  test('its answer with a place for all forgets that there was none', () =>
    expect(answering(2_000, { answeredMs: 2_500, unplaced: 0 })({ ...asked, unplaced: 3 })).toEqual(
      { ...asked, answeredMs: 2_500 },
    ));
});

test.each([
  ['an under-used node goes with its command', 'underutilized', 'c1', 'c1'],
  ['an under-used node may go alone', 'underutilized', undefined, undefined],
  ['a node that is interrupted meanwhile goes by itself', 'interrupted', 'c1', undefined],
] as const)('%s', (_what, cause, disruption, command) => {
  const retirement = disruption === undefined ? { cause } : { cause, disruption };
  expect(commandOfRetirement(retirement)).toBe(command);
});
