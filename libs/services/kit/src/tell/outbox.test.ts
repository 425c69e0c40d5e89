import { BusError, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { countingMetrics, recordingLog } from '../testing/outside.js';
import { busOutbox, Outbox, type OutboxOptions } from './outbox.js';

function stage(options: Partial<OutboxOptions> = {}) {
  const clock = virtualClock(0);
  const stop = new Stopper();
  const sent: string[] = [];
  const errors: string[] = [];
  const bus = { isAway: false };
  let dropped = 0;
  const outbox = new Outbox({
    clock,
    waitingMax: 3,
    retryMs: 100,
    isHopeless: () => false,
    onError: (key) => errors.push(key),
    onDropped: (count) => (dropped += count),
    ...options,
  });
  const add = (key: string, text = key, untilMs = Infinity): void =>
    outbox.add({
      key,
      untilMs,
      send: () => {
        if (bus.isAway) return Promise.reject(new BusError('unavailable', 'away'));
        sent.push(text);
        return Promise.resolve();
      },
    });
  const run = (): Promise<void> => outbox.run(stop);
  return { clock, stop, outbox, sent, errors, bus, add, run, dropped: () => dropped };
}

describe('an outbox', () => {
  test('sends what is added, in order', async () => {
    const { clock, sent, add, run, outbox } = stage();
    void run();
    add('a');
    add('b');
    await clock.advance(0);
    add('c');
    await clock.advance(0);
    expect([sent, outbox.waiting()]).toEqual([['a', 'b', 'c'], 0]);
  });

  test('keeps messages while the bus is away, and tries until it is back', async () => {
    const { clock, sent, errors, bus, add, run, outbox } = stage();
    void run();
    bus.isAway = true;
    add('a');
    add('b');
    await clock.advance(250);
    expect([sent, errors, outbox.waiting()]).toEqual([[], ['a', 'a', 'a'], 2]);
    bus.isAway = false;
    await clock.advance(100);
    expect([sent, outbox.waiting()]).toEqual([['a', 'b'], 0]);
  });

  test('replaces a message that waits by a later one of its key', async () => {
    const { clock, sent, add, run } = stage();
    add('a', 'old');
    add('b');
    add('a', 'new');
    void run();
    await clock.advance(0);
    expect(sent).toEqual(['b', 'new']);
  });

  test('sends what comes while an earlier message of its key is on its way', async () => {
    const { clock, stop, sent, add, run, outbox } = stage();
    void run();
    const slow = async (): Promise<void> => {
      await clock.sleep(100, stop);
      sent.push('old');
    };
    outbox.add({ key: 'a', send: slow });
    await clock.advance(50);
    add('a', 'new');
    await clock.advance(100);
    expect([sent, outbox.waiting()]).toEqual([['old', 'new'], 0]);
  });

  test('does not send what has run out of time', async () => {
    const { clock, sent, bus, add, run, outbox } = stage();
    void run();
    bus.isAway = true;
    add('a', 'a', 150);
    add('b');
    await clock.advance(150);
    bus.isAway = false;
    await clock.advance(100);
    expect([sent, outbox.waiting()]).toEqual([['b'], 0]);
  });

  test('drops what can never be sent, reports it, and goes on', async () => {
    const { clock, outbox, sent, add, run, dropped, errors } = stage({ isHopeless: () => true });
    void run();
    outbox.add({ key: 'bad', send: () => Promise.reject(new Error('not encodable')) });
    add('b');
    await clock.advance(0);
    expect([sent, errors, dropped(), outbox.waiting()]).toEqual([['b'], ['bad'], 1, 0]);
  });

  test('ends with the stop, also while it waits to try again', async () => {
    const { clock, stop, bus, add, run, outbox } = stage();
    bus.isAway = true;
    add('a');
    const running = run();
    await clock.advance(50);
    stop.abort();
    await running;
    expect(outbox.waiting()).toBe(1);
  });

  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    isAway: fc.boolean(),
    afterMs: fc.constantFrom(0, 50, 250),
  });

  test('sends each message in order, unless a later one took its place or it was dropped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { clock, stop, sent, bus, add, run, outbox, dropped } = stage();
        const running = run();
        let replaced = 0;
        for (const [order, { key, isAway, afterMs }] of steps.entries()) {
          bus.isAway = isAway;
          const before = outbox.waiting() + dropped();
          add(key, String(order));
          if (outbox.waiting() + dropped() === before) replaced += 1;
          expect(outbox.waiting()).toBeLessThanOrEqual(3);
          await clock.advance(afterMs);
        }
        bus.isAway = false;
        await clock.advance(1_000);
        const orders = sent.map(Number);
        expect(orders).toEqual([...new Set(orders)].sort((a, b) => a - b));
        expect(sent.length + replaced + dropped()).toBe(steps.length);
        stop.abort();
        await running;
      }),
      { numRuns: 40 },
    );
  });
});

describe('the outbox of a bus', () => {
  test('counts failures and what it drops', async () => {
    const clock = virtualClock(0);
    const { log, lines } = recordingLog();
    const { metrics, counts } = countingMetrics();
    const outbox = busOutbox({ clock, log, metrics });
    void outbox.run(new Stopper());
    const fail = (code: 'unavailable' | 'too-large' | 'denied') => () =>
      Promise.reject(new BusError(code, code));
    outbox.add({ key: 'large', send: fail('too-large') });
    outbox.add({ key: 'denied', send: fail('denied') });
    outbox.add({ key: 'away', send: fail('unavailable') });
    await clock.advance(1_000);
    expect([...counts]).toEqual([
      ['dovetail_bus_errors_total', 3],
      ['dovetail_decisions_dropped_total', 2],
    ]);
    expect(lines.map(({ level, name }) => `${level} ${name}`)).toEqual([
      'warn publish-refused',
      'warn publish-refused',
      'debug publish-waits',
    ]);
    expect(outbox.waiting()).toBe(1);
  });
  test('keeps the decisions on a thousand nodes while the bus is away', () => {
    const { log } = recordingLog();
    const { metrics, counts } = countingMetrics();
    const outbox = busOutbox({ clock: virtualClock(0), log, metrics });
    const send = (): Promise<void> => Promise.resolve();
    for (const kind of ['interrupt', 'disrupt', 'drain', 'terminate'])
      for (let node = 0; node < 1_000; node += 1) outbox.add({ key: `${kind}/${node}`, send });
    expect([outbox.waiting(), counts.size]).toEqual([4_000, 0]);
  });
});
