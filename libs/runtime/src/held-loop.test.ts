import { describe, expect, test } from 'vitest';

import { HeldLoop, watchHeldLoop } from './held-loop.js';

describe('the longest hold of an event loop', () => {
  const startedAt = { wallMs: 1_000, cpuMs: 500 };

  test.each([
    ['a turn in time is none', { wallMs: 1_010, cpuMs: 509 }, 0],
    ['a wait for a CPU is none', { wallMs: 1_410, cpuMs: 500 }, 0],
    ['work counts from the moment at which the look was due', { wallMs: 1_310, cpuMs: 810 }, 300],
    ['of work that waited for a CPU, the work counts', { wallMs: 1_410, cpuMs: 620 }, 120],
  ])('%s', (_what, then, heldMs) => {
    const loop = new HeldLoop(startedAt);
    loop.look(then);
    expect(loop.take()).toBe(heldMs);
  });

  test('is the longest of all looks, and begins anew once it was taken', () => {
    const loop = new HeldLoop(startedAt);
    for (const [wallMs, cpuMs] of [
      [1_060, 550],
      [1_370, 850],
      [1_400, 870],
    ] as const)
      loop.look({ wallMs, cpuMs });
    expect(loop.take()).toBe(300);
    expect(loop.take()).toBe(0);
  });

  test('is that of this process: work holds it', () => {
    const take = watchHeldLoop();
    const startedMs = process.cpuUsage().user;
    while (process.cpuUsage().user - startedMs < 60_000) Math.sqrt(2);
    expect(take()).toBeGreaterThan(20);
  });
});
