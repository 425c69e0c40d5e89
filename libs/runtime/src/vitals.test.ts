import { describe, expect, test } from 'vitest';

import { createVitals } from './vitals.js';

describe('the vitals of a process', () => {
  const setUp = () => {
    let nowMs = 0;
    const vitals = createVitals({ nowMs: () => nowMs, metrics: { set: () => undefined } });
    return { vitals, at: (ms: number) => (nowMs = ms) };
  };

  test.each<[string, number, readonly string[]]>([
    ['before its limit is well', 999, []],
    ['at its limit is well', 1_000, []],
    ['after its limit is hung', 1_001, ['loop']],
  ])('a turn %s', (_when, ms, hung) => {
    const { vitals, at } = setUp();
    void vitals.turn('loop', 1_000, () => new Promise(() => undefined));
    at(ms);
    expect(vitals.hung()).toEqual(hung);
  });

  test('name each hung loop once, in order', () => {
    const { vitals, at } = setUp();
    for (const name of ['rounds', 'events', 'rounds'])
      void vitals.turn(name, 1, () => new Promise(() => undefined));
    at(2);
    expect(vitals.hung()).toEqual(['events', 'rounds']);
  });

  test('forget a turn that ended late, with its result', async () => {
    const { vitals, at } = setUp();
    let end: (value: number) => void = () => undefined;
    const turn = vitals.turn('loop', 1, () => new Promise<number>((resolve) => (end = resolve)));
    at(2);
    expect(vitals.hung()).toEqual(['loop']);
    end(7);
    expect(await turn).toBe(7);
    expect(vitals.hung()).toEqual([]);
  });

  test('forget a turn that failed, and pass its error on', async () => {
    const { vitals, at } = setUp();
    await expect(
      vitals.turn('loop', 1, () => Promise.reject(new Error('refused'))),
    ).rejects.toThrow('refused');
    at(2);
    expect(vitals.hung()).toEqual([]);
  });
});
