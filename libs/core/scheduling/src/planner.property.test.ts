import { describe, expect, test } from '@jest/globals';
import { checkPlan, plan } from './index.js';
import { mixedWorld } from './testing/worlds.js';

const seeds = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, index) => from + index);

describe('in every generated world', () => {
  test.each(seeds(1, 20).map((block) => [block * 50 - 49, block * 50]))('the checker finds nothing wrong with the plans of seeds %i to %i', (from, to) => {
    for (const seed of seeds(from, to - from + 1)) {
      const { snapshot, pods, options } = mixedWorld(seed);
      const made = plan(snapshot, pods, options);
      expect({ seed, violations: checkPlan(snapshot, pods, made, options) }).toEqual({ seed, violations: [] });
    }
  });
});
