import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Day, dayOf } from './trace.js';

const drawn = (seed: number): Day => dayOf({ seed, seconds: 600, apps: 20 });
const seeds = fc.integer({ min: 1, max: 1_000_000 });

describe('a day', () => {
  test('is the same for the same seed', () => {
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(7)).not.toEqual(drawn(8));
  });

  test('begins with every app, and goes forward', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { apps, events, seconds } = drawn(seed);
        const first = events.filter(({ at }) => at === 0);
        expect(first).toHaveLength(apps.length);
        for (const [index, { at }] of events.entries()) {
          expect(at).toBeGreaterThanOrEqual(events[index - 1]?.at ?? 0);
          expect(at).toBeLessThan(seconds);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('keeps at least one pod of each app, which fits a node of the pool', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { apps, events } = drawn(seed);
        for (const event of events)
          if (event.kind === 'scale') expect(event.replicas).toBeGreaterThanOrEqual(1);
        for (const { cpuMillis, memoryMib } of apps) {
          expect(cpuMillis).toBeLessThanOrEqual(4_000);
          expect(memoryMib / cpuMillis).toBeLessThanOrEqual(9);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('holds more pods in its afternoon than at night', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { events, seconds } = drawn(seed);
        const podsAt = (share: number): number => {
          const replicas = new Map<string, number>();
          for (const event of events)
            if (event.kind === 'scale' && event.at <= share * seconds)
              replicas.set(event.app, event.replicas);
          return [...replicas.values()].reduce((a, b) => a + b, 0);
        };
        expect(podsAt(0.55)).toBeGreaterThan(podsAt(0));
        expect(podsAt(0.55)).toBeGreaterThan(podsAt(0.95));
      }),
      { numRuns: 30 },
    );
  });
});
