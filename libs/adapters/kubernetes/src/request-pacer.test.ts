import { describe, expect, test } from 'vitest';

import { type PacerClock, RequestPacer, type Urgency } from './request-pacer.js';

/** A clock that the test moves. */
class TestClock implements PacerClock {
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly act: () => void }[] = [];

  readonly nowMs = (): number => this.#nowMs;
  readonly after = (delayMs: number, act: () => void): void => {
    this.#timers.push({ atMs: this.#nowMs + delayMs, act });
  };

  async advance(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    while (this.#nowMs < endMs) {
      this.#nowMs += 1;
      const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
      this.#timers = this.#timers.filter(({ atMs }) => atMs > this.#nowMs);
      for (const { act } of due) act();
      await Promise.resolve();
    }
  }
}

describe('requests to the API server', () => {
  const paced = () => {
    const clock = new TestClock();
    const pacer = new RequestPacer({ perSecond: 100, burst: 5 }, clock);
    const gone: string[] = [];
    const send = (name: string, urgency: Urgency = 'ordinary'): void =>
      void pacer.take(urgency).then(() => gone.push(name));
    return { clock, gone, send };
  };
  const names = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}${String(index)}`);

  test('rest as long as the server asks, however often it asks, and go on at the pace', async () => {
    const clock = new TestClock();
    const pacer = new RequestPacer({ perSecond: 100, burst: 5 }, clock);
    const gone: number[] = [];
    for (let times = 0; times < 50; times += 1) pacer.rest(1_000);
    for (let count = 0; count < 3; count += 1)
      void pacer.take('ordinary').then(() => gone.push(clock.nowMs()));
    await clock.advance(1_100);
    expect(gone).toEqual([1_010, 1_020, 1_030]);
  });

  test('go at once within the burst, and at the pace after it', async () => {
    const { clock, gone, send } = paced();
    for (const name of names('r', 50)) send(name);
    await clock.advance(1);
    expect(gone).toEqual(names('r', 5));
    await clock.advance(200);
    expect(gone.length).toBeGreaterThanOrEqual(24);
    expect(gone.length).toBeLessThanOrEqual(26);
    await clock.advance(300);
    expect(gone).toEqual(names('r', 50));
  });

  test('that are urgent overtake all ordinary ones that wait', async () => {
    const { clock, gone, send } = paced();
    for (const name of names('r', 500)) send(name);
    for (const name of names('urgent', 3)) send(name, 'urgent');
    await clock.advance(41);
    expect(gone.slice(5, 8)).toEqual(names('urgent', 3));
  });

  test('that are spare wait until no other waits', async () => {
    const { clock, gone, send } = paced();
    for (const name of names('event', 50)) send(name, 'spare');
    for (const name of names('r', 50)) send(name);
    await clock.advance(501);
    expect(gone.slice(5, 55)).toEqual(names('r', 50));
    await clock.advance(600);
    expect(gone).toHaveLength(100);
  });

  test('gather no more than a burst while nothing is sent', async () => {
    const { clock, gone, send } = paced();
    await clock.advance(10_000);
    for (const name of names('r', 50)) send(name);
    await clock.advance(1);
    expect(gone).toHaveLength(5);
  });
});
