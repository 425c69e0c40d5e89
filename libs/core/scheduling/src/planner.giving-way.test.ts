import { expect, test } from 'vitest';

import { plan } from './index.js';
import { nodesPerStep } from './model/nodes.js';
import { mixedWorld } from './testing/worlds.js';

const seeds = Array.from({ length: 12 }, (_, index) => index + 1);

test.each(seeds)(
  'a plan that is made between the steps of another is the same, and so is the other (seed %i)',
  (seed) => {
    const outer = mixedWorld(seed);
    const inner = mixedWorld(seed + 100);
    const alone = plan(inner.snapshot, inner.pods, inner.options);
    const calm = plan(outer.snapshot, outer.pods, outer.options);
    let steps = 0;
    const giveWay = (): void => {
      steps += 1;
      const isPowerOfTwo = (steps & (steps - 1)) === 0;
      if (isPowerOfTwo) expect(plan(inner.snapshot, inner.pods, inner.options)).toEqual(alone);
    };
    const shouldStop = (): boolean => {
      giveWay();
      return false;
    };
    const interrupted = plan(outer.snapshot, outer.pods, { ...outer.options, giveWay, shouldStop });
    expect(interrupted).toEqual(calm);
    expect(steps).toBeGreaterThan(4);
  },
);

test('a plan gives way among the nodes that it reads', () => {
  const { snapshot, options } = mixedWorld(1);
  const [node] = snapshot.nodes;
  if (node === undefined) throw new Error('the world has nodes');
  const stepsOf = (count: number): number => {
    let steps = 0;
    const nodes = Array.from({ length: count }, (_, index) => ({
      ...node,
      cordoned: false,
      state: 'ready' as const,
      name: `n${index}`,
      uid: `n${index}`,
    }));
    plan({ ...snapshot, nodes }, [], { ...options, giveWay: () => (steps += 1) });
    return steps;
  };
  expect(stepsOf(20 * nodesPerStep) - stepsOf(0)).toBeGreaterThanOrEqual(20);
});
