/** What every implementation of the Bus port must do: run on the in-process bus and on NATS. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Bus, BusError, type FollowEvent, type FollowFrom, type StreamSpec, type WorkerSpec, type WorkItem } from '@dovetail/core-ports';

/** A bus server under test and what can befall it. */
export type BusWorld = {
  connect(): Bus;
  /** The server dies at once (kill -9) and is not back yet. */
  crash(): Promise<void>;
  restart(options: { wiped: boolean }): Promise<void>;
  purge(stream: string): Promise<void>;
  deleteStream(stream: string): Promise<void>;
  deleteConsumer(stream: string, consumer: string): Promise<void>;
  close(): Promise<void>;
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);
const mebibyte = 1024 * 1024;
const state: StreamSpec = { name: 'T_STATE', subjects: ['t.state.>'], keep: 'last', maxBytes: 16 * mebibyte, duplicateWindowMs: 60_000 };
const queue: StreamSpec = { name: 'T_QUEUE', subjects: ['t.queue.>'], keep: 'work', maxAgeMs: 60_000, maxBytes: 16 * mebibyte, duplicateWindowMs: 60_000 };
const log: StreamSpec = { name: 'T_LOG', subjects: ['t.log.>'], keep: 'log', maxAgeMs: 60_000, maxBytes: 16 * mebibyte, duplicateWindowMs: 60_000 };
const worker: WorkerSpec = { stream: 'T_QUEUE', name: 'workers', ackWaitMs: 1_000, inFlightMax: 8, filter: 't.queue.>' };

/** Retries what a server that is just coming back may still refuse. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Reads one follower in the background and waits for what is expected of it. */
class Watcher {
  readonly events: FollowEvent[] = [];
  readonly #seen: string[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #wake = (): void => undefined;
  constructor(bus: Bus, stream: string, filters: readonly string[], from?: FollowFrom) {
    this.#ended = this.#read(bus.follow({ stream, filters, ...(from === undefined ? {} : { from }) }, this.#stop.signal));
  }
  async #read(events: AsyncIterable<FollowEvent>): Promise<void> {
    for await (const event of events) {
      this.events.push(event);
      this.#seen.push(event.kind === 'message' ? `${event.message.subject}=${textOf(event.message.payload)}` : event.kind);
      this.#wake();
    }
  }
  async until(what: string, done: (seen: readonly string[]) => boolean): Promise<readonly string[]> {
    const untilMs = Date.now() + 15_000;
    while (!done(this.seen())) {
      if (Date.now() > untilMs) throw new Error(`${what}: saw ${String(this.#seen.length)} events: ${JSON.stringify(this.#seen.slice(-20)).slice(0, 1_000)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return [...this.#seen];
  }
  /** `subject=payload`, `caught-up`, `reset`. */
  seen(): readonly string[] {
    return this.#seen;
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

export function busConformance(name: string, makeWorld: () => Promise<BusWorld>): void {
  describe(name, () => {
    let world: BusWorld;
    let bus: Bus;
    const open: { close(): Promise<void> }[] = [];
    const follow = (stream: string, filters: readonly string[], from?: FollowFrom): Watcher => {
      const watcher = new Watcher(bus, stream, filters, from);
      open.push(watcher);
      return watcher;
    };
    const member = (on: Bus = bus): { next(): Promise<WorkItem>; close(): Promise<void> } => {
      const stop = new AbortController();
      const items = on.work(worker, stop.signal)[Symbol.asyncIterator]();
      const made = {
        next: async (): Promise<WorkItem> => {
          const item = await items.next();
          if (item.done === true) throw new Error('the queue has ended');
          return item.value;
        },
        close: async (): Promise<void> => {
          stop.abort();
          await items.return?.();
        },
      };
      open.push(made);
      return made;
    };
    const put = (subject: string, text: string, rest: Partial<Parameters<Bus['publish']>[0]> = {}): ReturnType<Bus['publish']> => bus.publish({ subject, payload: bytes(text), ...rest });

    beforeAll(async () => {
      world = await makeWorld();
      bus = world.connect();
      await bus.ensureStreams([state, queue, log]);
    }, 60_000);
    afterEach(async () => {
      await Promise.all(open.splice(0).map((each) => each.close()));
      for (const stream of [state, queue, log]) await eventually(() => world.deleteStream(stream.name));
      await eventually(() => bus.ensureStreams([state, queue, log]));
    }, 30_000);
    afterAll(() => world.close(), 30_000);

    describe('publishing', () => {
      test('sequences grow by one and a message id is heard once', async () => {
        const first = await put('t.log.a', '1', { messageId: 'm1' });
        expect(first).toEqual({ stream: 'T_LOG', sequence: 1, duplicate: false });
        expect(await put('t.log.a', '1', { messageId: 'm1' })).toEqual({ stream: 'T_LOG', sequence: 1, duplicate: true });
        expect((await put('t.log.a', '2', { messageId: 'm2' })).sequence).toBe(2);
      });
      test('the expected last sequence of a subject guards it', async () => {
        const { sequence } = await put('t.state.a', '1', { expectLastSubjectSequence: 0 });
        await expect(put('t.state.a', '2', { expectLastSubjectSequence: 0 })).rejects.toMatchObject({ code: 'wrong-last-sequence' });
        expect((await put('t.state.a', '2', { expectLastSubjectSequence: sequence })).sequence).toBe(sequence + 1);
        expect((await put('t.state.b', '1', { expectLastSubjectSequence: 0 })).duplicate).toBe(false);
      });
      test('a subject of no stream is refused by name', async () => {
        await expect(put('nowhere.a', '1')).rejects.toMatchObject({ code: 'no-stream' });
      });
      test('a payload over a mebibyte is refused', async () => {
        await expect(bus.publish({ subject: 't.log.a', payload: new Uint8Array(mebibyte + 1) })).rejects.toMatchObject({ code: 'too-large' });
      });
      test('the duplicate window outlives a purge, but not the stream', async () => {
        await put('t.state.a', '1', { messageId: 'm' });
        await world.purge('T_STATE');
        expect((await put('t.state.a', '1', { messageId: 'm' })).duplicate).toBe(true);
        await world.deleteStream('T_STATE');
        expect((await put('t.state.a', '1', { messageId: 'm' })).duplicate).toBe(false);
      });
      test('a message with a time to live leaves the stream', async () => {
        await put('t.state.a', '1', { ttlMs: 1_000 });
        expect(await bus.lastMessage('T_STATE', 't.state.a')).toBeDefined();
        await eventually(async () => expect(await bus.lastMessage('T_STATE', 't.state.a')).toBeUndefined());
      });
    });

    describe('looking', () => {
      test('last message, last sequences and position', async () => {
        await put('t.state.a', '1', { headers: { 'ce-id': 'x' } });
        await put('t.state.a', '2', { headers: { 'ce-id': 'y' } });
        await put('t.state.b.c', '3');
        const last = await bus.lastMessage('T_STATE', 't.state.a');
        expect(last).toMatchObject({ subject: 't.state.a', sequence: 2, headers: { 'ce-id': 'y' } });
        expect(textOf(last?.payload ?? new Uint8Array())).toBe('2');
        expect(await bus.lastMessage('T_STATE', 't.state.none')).toBeUndefined();
        expect(await bus.lastSequences('T_STATE', 't.state.>')).toEqual(new Map([['t.state.a', 2], ['t.state.b.c', 3]]));
        expect(await bus.lastSequences('T_STATE', 't.state.*')).toEqual(new Map([['t.state.a', 2]]));
        const position = await bus.position('T_STATE');
        expect(position.lastSequence).toBe(3);
        await expect(bus.position('T_NONE')).rejects.toMatchObject({ code: 'no-stream' });
        await world.deleteStream('T_STATE');
        const anew = await bus.position('T_STATE');
        expect(anew.lastSequence).toBe(0);
        expect(anew.incarnation).not.toBe(position.incarnation);
      });
    });

    describe('following', () => {
      test('last messages first, then caught-up, then live ones in order', async () => {
        await put('t.state.a', '1');
        await put('t.state.b', '2');
        await put('t.state.a', '3');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        for (let index = 0; index < 20; index += 1) await put('t.state.c', String(index));
        const seen = await watcher.until('live', (all) => all.includes('t.state.c=19'));
        expect(seen).toEqual(['t.state.b=2', 't.state.a=3', 'caught-up', ...Array.from({ length: 20 }, (_, index) => `t.state.c=${String(index)}`)]);
        const caughtUp = watcher.events.find((event) => event.kind === 'caught-up');
        expect(caughtUp).toMatchObject({ position: { lastSequence: 3, incarnation: (await bus.position('T_STATE')).incarnation } });
      });
      test('an empty stream is caught up at once, and filters are kept', async () => {
        const watcher = follow('T_STATE', ['t.state.a', 't.state.x.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await put('t.state.b', '1');
        await put('t.state.x.y', '2');
        await put('t.state.a', '3');
        expect(await watcher.until('live', (seen) => seen.includes('t.state.a=3'))).toEqual(['caught-up', 't.state.x.y=2', 't.state.a=3']);
      });
      test('a log from its first message, and from now on', async () => {
        for (const text of ['1', '2']) await put('t.log.a', text);
        const all = follow('T_LOG', ['t.log.>'], 'first');
        const fresh = follow('T_LOG', ['t.log.>'], 'now');
        await all.until('caught up', (seen) => seen.includes('caught-up'));
        await fresh.until('caught up', (seen) => seen.includes('caught-up'));
        await put('t.log.a', '3');
        expect(await all.until('all', (seen) => seen.includes('t.log.a=3'))).toEqual(['t.log.a=1', 't.log.a=2', 'caught-up', 't.log.a=3']);
        expect(await fresh.until('fresh', (seen) => seen.includes('t.log.a=3'))).toEqual(['caught-up', 't.log.a=3']);
      });
      test('many last messages come whole', async () => {
        await Promise.all(Array.from({ length: 3_000 }, (_, index) => put(`t.state.many.${String(index)}`, 'x'.repeat(500))));
        const watcher = follow('T_STATE', ['t.state.>']);
        const seen = await watcher.until('all', (events) => events.at(-1) === 'caught-up');
        expect(seen).toHaveLength(3_001);
      });
      test('a purge is a reset, whatever is published after it', async () => {
        await put('t.state.a', '1');
        await put('t.state.b', '1');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await world.purge('T_STATE');
        await put('t.state.a', '2');
        const seen = await watcher.until('reset', (events) => events.slice(events.indexOf('reset')).includes('caught-up') && events.includes('reset'));
        expect(seen.slice(seen.indexOf('reset'))).toEqual(['reset', 't.state.a=2', 'caught-up']);
      });
      test('messages that end by themselves are no reset', async () => {
        await put('t.state.gone', '1', { ttlMs: 1_000 });
        await put('t.state.a', '1');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await new Promise((resolve) => setTimeout(resolve, 3_500));
        await put('t.state.a', '2');
        expect(await watcher.until('live', (seen) => seen.includes('t.state.a=2'))).not.toContain('reset');
      });
      test('a stream deleted and made anew is a reset, and its successor is followed', async () => {
        await put('t.state.a', '1');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await world.deleteStream('T_STATE');
        await put('t.state.b', '2');
        const seen = await watcher.until('anew', (events) => events.includes('t.state.b=2') && events.slice(events.indexOf('reset')).includes('caught-up'));
        expect(seen).toEqual(['t.state.a=1', 'caught-up', 'reset', ...seen.slice(3)]);
      });
      test('a server that died and came back is followed on, nothing twice and nothing lost', async () => {
        await put('t.state.a', '1');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await world.crash();
        await world.restart({ wiped: false });
        await eventually(() => put('t.state.b', '2', { messageId: 'b2' }));
        expect(await watcher.until('live', (seen) => seen.includes('t.state.b=2'))).toEqual(['t.state.a=1', 'caught-up', 't.state.b=2']);
      }, 30_000);
      test('a server that lost its store is a reset', async () => {
        await put('t.state.a', '1');
        const watcher = follow('T_STATE', ['t.state.>']);
        await watcher.until('caught up', (seen) => seen.includes('caught-up'));
        await world.crash();
        await world.restart({ wiped: true });
        await eventually(() => put('t.state.b', '2', { messageId: 'b2' }));
        const seen = await watcher.until('anew', (events) => events.includes('t.state.b=2') && events.includes('reset'));
        expect(seen.slice(0, 3)).toEqual(['t.state.a=1', 'caught-up', 'reset']);
      }, 30_000);
    });

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
        expect(await bus.lastSequences('T_QUEUE', 't.queue.>')).toEqual(new Map());
      });
      test('members share the work, and one that is busy takes no more', async () => {
        const other = world.connect();
        const [one, two] = [member(), member(other)];
        await put('t.queue.a', '1');
        const held = await one.next();
        const waiting = two.next();
        await put('t.queue.b', '2');
        const taken = await waiting;
        expect([textOf(held.message.payload), textOf(taken.message.payload)].sort()).toEqual(['1', '2']);
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
        const early = await Promise.race([again.then(() => 'redelivered'), Promise.resolve('not yet')]);
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
        if (what === 'consumer') await world.deleteConsumer('T_QUEUE', 'workers');
        else await world.deleteStream('T_QUEUE');
        await put('t.queue.a', '2');
        const item = await next;
        expect(textOf(item.message.payload)).toBe('2');
        await item.ack();
      });
      test.each([false, true])('a server that died (store lost: %s) is worked for on', async (wiped) => {
        const one = member();
        await put('t.queue.a', '1');
        await (await one.next()).ack();
        const next = one.next();
        await world.crash();
        await world.restart({ wiped });
        await eventually(() => put('t.queue.a', '2', { messageId: 'a2' }));
        const item = await next;
        expect(textOf(item.message.payload)).toBe('2');
        await item.ack();
      }, 30_000);
      test('an ack after the queue was lost is refused, not swallowed', async () => {
        const one = member();
        await put('t.queue.a', '1');
        const item = await one.next();
        await world.deleteStream('T_QUEUE');
        await expect(item.ack()).rejects.toBeInstanceOf(BusError);
      });
    });

    describe('asking', () => {
      test('one of those who serve answers; nobody is an error; so is a handler that fails', async () => {
        const stop = new AbortController();
        await expect(bus.request('t.ask', bytes('x'), { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'no-responders' });
        const served = [1, 2].map((index) => bus.serve({ subject: 't.ask', queue: 'q' }, (request) => {
          if (textOf(request.payload) === 'fail') return Promise.reject(new Error('cannot'));
          return Promise.resolve(bytes(`${String(index)}:${textOf(request.payload)}`));
        }, stop.signal));
        const answer = await eventually(() => bus.request('t.ask', bytes('hello'), { timeoutMs: 1_000, headers: { a: 'b' } }));
        expect(textOf(answer.payload)).toMatch(/^[12]:hello$/);
        await expect(bus.request('t.ask', bytes('fail'), { timeoutMs: 1_000 })).rejects.toMatchObject({ name: 'BusError', message: expect.stringMatching(/cannot/) });
        stop.abort();
        await Promise.all(served);
      });
      test('an answer that is late is a timeout', async () => {
        const stop = new AbortController();
        let release = (): void => undefined;
        const held = new Promise<void>((resolve) => {
          release = resolve;
        });
        const served = bus.serve({ subject: 't.slow', queue: 'q' }, async () => {
          await held;
          return bytes('late');
        }, stop.signal);
        await eventually(async () => expect(await bus.request('t.slow', bytes('x'), { timeoutMs: 100 }).catch((error: BusError) => error.code)).toBe('timeout'));
        release();
        stop.abort();
        await served;
      });
    });
  });
}
