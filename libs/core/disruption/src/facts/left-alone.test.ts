import { describe, expect, test } from 'vitest';

import { leftAloneNote, parseLeftAlone, renderLeftAlone } from './left-alone.js';

const nowMs = Date.parse('2026-01-02T00:00:00Z');
const pause = { untilMs: nowMs + 1_200_000, lengthMs: 1_200_000, why: 'no room came' };

describe('the annotation of a claim that is left alone', () => {
  test('is read as it was written', () =>
    expect(parseLeftAlone(renderLeftAlone(pause), nowMs)).toEqual(pause));

  test('is read after its end too, because the next pause is longer', () =>
    expect(parseLeftAlone(renderLeftAlone(pause), nowMs + 9_999_999)).toEqual(pause));

  test.each([
    ['there is none', undefined],
    ['it is no JSON', 'soon'],
    ['it is no object', '7'],
    ['its end is no time', '{"until":"soon","lengthMs":1,"why":""}'],
    ['its length is no number', '{"until":"2026-01-02T00:00:00Z","lengthMs":"1","why":""}'],
    ['its length is nothing', '{"until":"2026-01-02T00:00:00Z","lengthMs":0,"why":""}'],
    ['its length is no pause', '{"until":"2026-01-02T00:00:00Z","lengthMs":99999999999,"why":""}'],
    ['its end is years away', '{"until":"2036-01-02T00:00:00Z","lengthMs":1,"why":""}'],
    ['it has no reason', '{"until":"2026-01-02T00:00:00Z","lengthMs":1}'],
  ])('counts as none where %s', (_case, text) =>
    expect(parseLeftAlone(text, nowMs)).toBeUndefined(),
  );

  test('gives the reason for people, and until when', () =>
    expect(leftAloneNote(pause)).toEqual({
      code: 'left-alone',
      message: 'no room came',
      values: { until: '2026-01-02T00:20:00.000Z' },
    }));
});
