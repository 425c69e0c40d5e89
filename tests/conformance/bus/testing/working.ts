import { BusError } from '@dovetail/core-ports';
import { describe, expect, test, vi } from 'vitest';

import { bytes, eventually, type Stage, textOf } from './stage.js';

/** How the members of a queue share its messages, and how often each is delivered. */
export function working(at: Stage): void {
  const { put, member } = at;
  describe('working', () => {
    test('an acked message is gone, a newer one of its subject replaces it', async () => {
      await put('t.queue.a', '1');
      await put('t.queue.a', '2');
      await put('t.queue.b', '3');
      const one = member();
      const seen: string[] = [];
      for (let count = 0; count < 2; count += 1) {
        const item = await one.next();
        seen.push(textOf(item.message.payload));
        expect(item.deliveries).toBe(1);
        await item.ack();
      }
      expect(seen).toEqual(['2', '3']);
      expect(await at.bus.lastSequences('T_QUEUE', 't.queue.>')).toEqual(new Map());
    });
    test('members share the work, and one that is busy takes no more', async () => {
      const other = at.world.connect();
      const [one, two] = [member(), member(other)];
      await put('t.queue.a', '1');
      const held = await one.next();
      const waiting = two.next();
      await put('t.queue.b', '2');
      const taken = await waiting;
      expect([textOf(held.message.payload), textOf(taken.message.payload)].sort()).toEqual([
        '1',
        '2',
      ]);
      await Promise.all([held.ack(), taken.ack()]);
    });
    test('what is not acked comes again, and the deliveries are counted', async () => {
      await put('t.queue.a', '1');
      const one = member();
      expect((await one.next()).deliveries).toBe(1);
      const again = await one.next();
      expect(again.deliveries).toBe(2);
      await again.nak(50);
      const third = await one.next();
      expect(third.deliveries).toBe(3);
      await third.ack();
    });
    test('working on it puts off the redelivery', async () => {
      await put('t.queue.a', '1');
      const one = member();
      const item = await one.next();
      const again = one.next();
      for (let count = 0; count < 4; count += 1) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        await item.working();
      }
      const early = await Promise.race([
        again.then(() => 'redelivered'),
        Promise.resolve('not yet'),
      ]);
      expect(early).toBe('not yet');
      await item.ack();
      await put('t.queue.b', '2');
      expect(textOf((await again).message.payload)).toBe('2');
    });
    test.each(['consumer', 'stream'] as const)('a deleted %s is made again', async (what) => {
      const one = member();
      await put('t.queue.a', '1');
      await (await one.next()).ack();
      const next = one.next();
      if (what === 'consumer') await at.world.deleteConsumer('T_QUEUE', 'workers');
      else await at.world.deleteStream('T_QUEUE');
      await put('t.queue.a', '2');
      const item = await next;
      expect(textOf(item.message.payload)).toBe('2');
      await item.ack();
    });
    test.each([false, true])(
      'a server that died (store lost: %s) is worked for on',
      async (wiped) => {
        const one = member();
        await put('t.queue.a', '1');
        await (await one.next()).ack();
        const next = one.next();
        await at.world.crash();
        await at.world.restart({ wiped });
        await eventually(() => put('t.queue.a', '2', { messageId: 'a2' }));
        const item = await next;
        expect(textOf(item.message.payload)).toBe('2');
        await item.ack();
      },
      30_000,
    );
    test('its lag is what no member has got, and what is not acked; unknown before the first', async () => {
      const lag = () => at.bus.lagOf({ stream: 'T_QUEUE', name: 'workers', filter: 't.queue.>' });
      expect(await lag()).toBeUndefined();
      for (const end of ['a', 'b', 'c']) await put(`t.queue.${end}`, end);
      const one = member();
      const item = await one.next();
      expect(await lag()).toEqual({ waiting: 2, taken: 1 });
      await item.ack();
      await vi.waitFor(async () => expect(await lag()).toEqual({ waiting: 2, taken: 0 }));
    });
    test('an ack after the queue was lost is refused, not swallowed', async () => {
      const one = member();
      await put('t.queue.a', '1');
      const item = await one.next();
      await at.world.deleteStream('T_QUEUE');
      await expect(item.ack()).rejects.toBeInstanceOf(BusError);
    });
  });
}

/** Requests and their responders. */
export function asking(at: Stage): void {
  describe('asking', () => {
    test('one of those who serve answers; nobody is an error; so is a handler that fails', async () => {
      const stop = new AbortController();
      await expect(
        at.bus.request('t.ask', bytes('x'), { timeoutMs: 60_000 }),
      ).rejects.toMatchObject({ code: 'no-responders' });
      const served = [1, 2].map((index) =>
        at.bus.serve(
          { subject: 't.ask', queue: 'q' },
          (request) => {
            if (textOf(request.payload) === 'fail') return Promise.reject(new Error('cannot'));
            return Promise.resolve(bytes(`${String(index)}:${textOf(request.payload)}`));
          },
          stop.signal,
        ),
      );
      const answer = await eventually(() =>
        at.bus.request('t.ask', bytes('hello'), { timeoutMs: 60_000, headers: { a: 'b' } }),
      );
      expect(textOf(answer.payload)).toMatch(/^[12]:hello$/);
      await expect(
        at.bus.request('t.ask', bytes('fail'), { timeoutMs: 60_000 }),
      ).rejects.toMatchObject({ name: 'BusError', message: expect.stringMatching(/cannot/) });
      stop.abort();
      await Promise.all(served);
    });
    test('an answer that is late is a timeout', async () => {
      const stop = new AbortController();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const served = at.bus.serve(
        { subject: 't.slow', queue: 'q' },
        async () => {
          await held;
          return bytes('late');
        },
        stop.signal,
      );
      await eventually(async () =>
        expect(
          await at.bus
            .request('t.slow', bytes('x'), { timeoutMs: 100 })
            .catch((error: BusError) => error.code),
        ).toBe('timeout'),
      );
      release();
      stop.abort();
      await served;
    });
  });
}
