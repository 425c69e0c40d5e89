import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type AssignmentBound, AssignmentProgram, type NodeRange } from './assignment.js';
import type { BoundProblem } from './problem.js';
import { spreadBound } from './spread.js';

const empty: BoundProblem = {
  classes: [],
  rules: [],
  buyable: [],
  existing: [],
  demand: new Float64Array(),
  scales: new Float64Array(),
  balanced: true,
  nodesMin: 0,
};

/** A program that answers from a function, and keeps the ranges that it was asked for. */
class Scripted extends AssignmentProgram {
  readonly asked: NodeRange[] = [];
  readonly #answer: (range: NodeRange) => AssignmentBound;

  constructor(answer: (range: NodeRange) => AssignmentBound) {
    super(
      empty,
      { solve: () => Promise.reject(new Error('no solver is asked')) },
      { timeMsMax: 0 },
    );
    this.#answer = answer;
  }

  override solve(range: NodeRange): Promise<AssignmentBound> {
    this.asked.push(range);
    return Promise.resolve(this.#answer(range));
  }
}

type Case = {
  /** The least price with as many new nodes as the index. */
  readonly prices: readonly number[];
  readonly rangesMax: number;
};

const indexOfLeast = ({ least, most }: NodeRange, prices: readonly number[]): number =>
  prices.reduce(
    (best, price, nodes) =>
      nodes > least && nodes <= most && price < (prices[best] ?? Infinity) ? nodes : best,
    least,
  );

/** Solves each range exactly. */
const exact = (prices: readonly number[]): Scripted =>
  new Scripted((range) => {
    const nodes = indexOfLeast(range, prices);
    return { priceMicrosPerHour: prices[nodes] ?? Infinity, nodes };
  });

/** Knows a narrow range well, and says less of a wide one. */
const lax = (prices: readonly number[]): Scripted =>
  new Scripted((range) => {
    const nodes = indexOfLeast(range, prices);
    const wide = 1 + range.most - range.least;
    return { priceMicrosPerHour: (prices[nodes] ?? Infinity) / wide, nodes };
  });

const boundOf = (program: Scripted, { prices, rangesMax }: Case): Promise<number> =>
  spreadBound(program, { all: { least: 0, most: prices.length - 1 }, rangesMax });

const cases = fc.record({
  prices: fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 40 }),
  rangesMax: fc.integer({ min: 1, max: 25 }),
});

describe('the bound over ranges of the number of new nodes', () => {
  test('is the least price when each range is solved exactly', () =>
    fc.assert(
      fc.asyncProperty(cases, async (one) => {
        expect(await boundOf(exact(one.prices), one)).toBe(Math.min(...one.prices));
      }),
      { seed: 1 },
    ));

  test('never exceeds the least price, and does not fall with more ranges', () =>
    fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const few = await boundOf(lax(one.prices), one);
        const more = await boundOf(lax(one.prices), { ...one, rangesMax: one.rangesMax + 2 });
        expect(more).toBeLessThanOrEqual(Math.min(...one.prices));
        expect(few).toBeLessThanOrEqual(more);
      }),
      { seed: 1 },
    ));

  test('asks for no more ranges than it may, and cuts each in two without a gap', () =>
    fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const program = lax(one.prices);
        await boundOf(program, one);
        expect(program.asked.length).toBeLessThanOrEqual(one.rangesMax);
        const [all, ...parts] = program.asked;
        expect(all).toEqual({ least: 0, most: one.prices.length - 1 });
        const texts = new Set(program.asked.map(({ least, most }) => `${least}-${most}`));
        expect(texts.size).toBe(program.asked.length);
        for (let index = 0; index < parts.length; index += 2) {
          const [left, right] = parts.slice(index, index + 2);
          expect(right?.least).toBe((left?.most ?? NaN) + 1);
          expect(program.asked).toContainEqual({ least: left?.least, most: right?.most });
        }
      }),
      { seed: 1 },
    ));

  test('is exact once the ranges are single numbers', async () => {
    const prices = [90, 80, 30, 70];
    expect(await boundOf(lax(prices), { prices, rangesMax: 99 })).toBe(30);
  });

  test('cuts a narrow range at the relaxed number of nodes', async () => {
    const program = new Scripted(() => ({ priceMicrosPerHour: 1, nodes: 2.5 }));
    await spreadBound(program, { all: { least: 1, most: 4 }, rangesMax: 3 });
    expect(program.asked).toEqual([
      { least: 1, most: 4 },
      { least: 1, most: 2 },
      { least: 3, most: 4 },
    ]);
  });

  test('cuts a wide range at its geometric mean', async () => {
    const program = new Scripted(() => ({ priceMicrosPerHour: 1, nodes: 99 }));
    await spreadBound(program, { all: { least: 4, most: 100 }, rangesMax: 3 });
    expect(program.asked.slice(1)).toEqual([
      { least: 4, most: 20 },
      { least: 21, most: 100 },
    ]);
  });

  test('keeps for the halves what it knew of the whole', async () => {
    const program = new Scripted(({ least, most }) => ({
      priceMicrosPerHour: most - least === 9 ? 50 : 0,
      nodes: least,
    }));
    expect(await spreadBound(program, { all: { least: 0, most: 9 }, rangesMax: 25 })).toBe(50);
  });

  test('is infinite, after one question, when no plan exists', async () => {
    const program = new Scripted(({ most }) => ({ priceMicrosPerHour: Infinity, nodes: most }));
    const bound = await spreadBound(program, { all: { least: 0, most: 9 }, rangesMax: 25 });
    expect([bound, program.asked.length]).toEqual([Infinity, 1]);
  });
});
