import { type BusError, neverStopping, Stopper, type StreamSpec } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { memoryBus } from './bus.js';
import { MemoryBusServer } from './server.js';

const spec = (keep: StreamSpec['keep']): StreamSpec => ({
  name: 's',
  subjects: ['s.>'],
  keep,
  maxBytes: 1_000_000,
  duplicateWindowMs: 60_000,
});
const worker = { stream: 's', name: 'w', ackWaitMs: 30_000, inFlightMax: 10 };

async function served(keep: StreamSpec['keep']) {
  const clock = virtualClock(0);
  const server = new MemoryBusServer(clock);
  const bus = memoryBus(server);
  await bus.ensureStreams([spec(keep)]);
  const publish = (subject: string) => bus.publish({ subject, payload: new Uint8Array([1]) });
  return { clock, server, bus, publish };
}

describe('a bus with faults', () => {
  test('delivers the messages of a late stream after its lag', async () => {
    const { clock, server, bus, publish } = await served('last');
    const stop = new Stopper();
    const seen: number[] = [];
    const following = (async () => {
      for await (const event of bus.follow({ stream: 's', filters: ['s.>'] }, stop))
        if (event.kind === 'message') seen.push(clock.nowMs());
    })();
    server.delay('s', 5_000);
    await clock.advance(1);
    await publish('s.a');
    await clock.advance(10_000);
    expect(seen).toEqual([5_001]);
    stop.abort();
    await following;
  });

  test('gives work that is in hand again, if it is told to', async () => {
    const { clock, server, bus, publish } = await served('work');
    await publish('s.a');
    const items = bus.work(worker, neverStopping)[Symbol.asyncIterator]();
    const first = (await items.next()).value;
    const second = items.next();
    await clock.advance(10);
    server.redeliver();
    const again = (await second).value;
    expect([first?.deliveries, again?.deliveries]).toEqual([1, 2]);
    expect(again?.message.sequence).toBe(first?.message.sequence);
  });

  test.each([
    [false, ['s.a', 's.b']],
    [true, ['s.b', 's.a']],
  ])('gives its newest work first: %j', async (newestFirst, subjects) => {
    const { server, bus, publish } = await served('work');
    for (const subject of ['s.a', 's.b']) await publish(subject);
    server.newestFirst = newestFirst;
    const items = bus.work(worker, neverStopping)[Symbol.asyncIterator]();
    const seen = [(await items.next()).value, (await items.next()).value];
    expect(seen.map((item) => item?.message.subject)).toEqual(subjects);
  });

  test('stores what it loses the answer to', async () => {
    const { server, bus, publish } = await served('last');
    server.loseAnswers(1);
    const lost = await publish('s.a').catch((error: unknown) => error as BusError);
    expect(lost).toMatchObject({ code: 'timeout' });
    expect(await bus.lastMessage('s', 's.a')).toBeDefined();
    expect(await publish('s.a')).toMatchObject({ sequence: 2 });
  });
});
