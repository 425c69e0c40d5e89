import type { LinearProgram } from '@dovetail/core-ports';
import { afterAll, describe, expect, test } from 'vitest';

import { highsSolver, stepBoxed, timeBoxed } from './highs-solver.js';

const solver = highsSolver();
afterAll(() => solver.close());
const limits = { timeMsMax: 10_000 };

/** Cover 3.5 with nodes of size 1 at 1 dollar and of size 2 at 1.5 dollars. */
const covering = (over: Partial<LinearProgram> = {}): LinearProgram => ({
  cost: Float64Array.of(1, 1.5),
  columnLower: Float64Array.of(0, 0),
  columnUpper: Float64Array.of(Infinity, Infinity),
  rowLower: Float64Array.of(3.5),
  rowUpper: Float64Array.of(Infinity),
  starts: Int32Array.of(0, 1, 2),
  indices: Int32Array.of(0, 0),
  values: Float64Array.of(1, 2),
  ...over,
});

const nothing: Partial<LinearProgram> = {
  cost: new Float64Array(0),
  columnLower: new Float64Array(0),
  columnUpper: new Float64Array(0),
  starts: Int32Array.of(0),
  indices: new Int32Array(0),
  values: new Float64Array(0),
};

describe('HiGHS', () => {
  test.each([
    ['fractions of nodes', covering(), { status: 'optimal', bound: 2.625 }],
    ['whole nodes', covering({ wholeNumbers: true }), { status: 'optimal', bound: 3 }],
    [
      'a large node at most',
      covering({ columnUpper: Float64Array.of(Infinity, 1) }),
      { status: 'optimal', bound: 3 },
    ],
    [
      'too few nodes',
      covering({ columnUpper: Float64Array.of(1, 1) }),
      { status: 'infeasible', bound: Infinity },
    ],
    [
      'no kind of node, and demand',
      covering({ ...nothing, wholeNumbers: true }),
      { status: 'infeasible', bound: Infinity },
    ],
    [
      'no kind of node, and no demand',
      covering({ ...nothing, rowLower: Float64Array.of(0) }),
      { status: 'optimal', bound: 0 },
    ],
  ])('%s', async (_name, program, wanted) => {
    const { status, bound } = await solver.solve(program, limits);
    expect({ status, bound: Number.isFinite(bound) ? Number(bound.toFixed(9)) : bound }).toEqual(
      wanted,
    );
  });

  test('the dual of a covering row is its price', async () => {
    const { rowDuals } = await solver.solve(covering(), limits);
    expect(rowDuals[0]).toBeCloseTo(0.75, 9);
  });

  test('programs may overlap', async () => {
    const answers = await Promise.all(
      [2, 4, 6].map((demand) =>
        solver.solve(covering({ rowLower: Float64Array.of(demand) }), limits),
      ),
    );
    expect(answers.map(({ bound }) => bound)).toEqual([1.5, 3, 4.5]);
  });

  test('a program that makes no sense is refused, and the next one is solved', async () => {
    await expect(solver.solve(covering({ indices: Int32Array.of(0, 7) }), limits)).rejects.toThrow(
      'HiGHS could not solve',
    );
    expect((await solver.solve(covering(), limits)).status).toBe('optimal');
  });

  test('after closing, the next program starts a new thread', async () => {
    const closing = highsSolver();
    await closing.solve(covering(), limits);
    await closing.close();
    expect((await closing.solve(covering(), limits)).bound).toBeCloseTo(2.625, 9);
    await closing.close();
  });

  test('in a time box it solves what it has time for, and says stopped, without a bound, to the rest', async () => {
    expect(await timeBoxed(solver, 60_000).solve(covering(), limits)).toMatchObject({
      status: 'optimal',
    });
    expect(await timeBoxed(solver, 0).solve(covering(), limits)).toMatchObject({
      status: 'stopped',
      bound: -Infinity,
    });
  });

  test('steps are counted, are the same each time, and stop a program', async () => {
    const cover = covering({ wholeNumbers: true });
    const first = await solver.solve(cover, limits);
    expect(first.steps).toBeGreaterThan(0);
    expect(await solver.solve(cover, limits)).toEqual(first);
    const stopped = await solver.solve(covering(), { ...limits, stepsMax: 0 });
    expect(stopped).toMatchObject({ status: 'stopped', bound: -Infinity });
  });

  test('in a box of steps, programs share them, whatever their time', async () => {
    const untimed = { timeMsMax: Infinity };
    const { steps } = await solver.solve(covering(), untimed);
    const box = stepBoxed(solver, steps);
    expect(await box.solve(covering(), untimed)).toMatchObject({ status: 'optimal', steps });
    expect(await box.solve(covering(), untimed)).toMatchObject({
      status: 'stopped',
      bound: -Infinity,
      steps: 0,
    });
  });

  test('a box that closes while a program is being solved is not waited for beyond its time', async () => {
    const endless = { solve: () => new Promise<never>(() => undefined) };
    expect(await timeBoxed(endless, 20).solve(covering(), limits)).toMatchObject({
      status: 'stopped',
      bound: -Infinity,
    });
  });
});
