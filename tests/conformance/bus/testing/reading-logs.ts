import type { WorkerSpec, WorkItem } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { type Member, type Stage, textOf } from './stage.js';

const reader = (name: string, over: Partial<WorkerSpec> = {}): WorkerSpec => ({
  stream: 'T_LOG',
  name,
  ackWaitMs: 1_000,
  inFlightMax: 1,
  from: 'first',
  ...over,
});

const textsOf = async (member: Member, count: number): Promise<readonly string[]> => {
  const seen: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const item = await member.next();
    seen.push(textOf(item.message.payload));
    await item.ack();
  }
  return seen;
};

/** Consumers of a log: each reads all of it in its order, and keeps its own place. */
export function readingLogs(at: Stage): void {
  const { put, member } = at;
  const putAll = async (...texts: readonly string[]): Promise<void> => {
    for (const text of texts) await put('t.log.a', text);
  };
  /**
   * Puts `new` until the member gets one. It begins with new messages, so nothing else tells that
   * the bus knows it.
   */
  const gotNew = async (made: Member): Promise<WorkItem> => {
    let got: WorkItem | undefined;
    const next = made.next().then((item) => (got = item));
    while (got === undefined) {
      await putAll('new');
      await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 50))]);
    }
    return got;
  };

  describe('reading a log by consumers', () => {
    test('each gets every message, and an ack takes it from no other', async () => {
      await putAll('1', '2');
      const [one, two] = [member(at.bus, reader('one')), member(at.bus, reader('two'))];
      expect(await textsOf(one, 2)).toEqual(['1', '2']);
      expect(await textsOf(two, 2)).toEqual(['1', '2']);
      expect((await at.bus.lastSequences('T_LOG', 't.log.>')).size).toBe(1);
    });

    test('one that comes again goes on where it was, wherever it would have begun', async () => {
      await putAll('1', '2');
      const first = member(at.bus, reader('one'));
      expect(await textsOf(first, 1)).toEqual(['1']);
      await first.close();
      await putAll('3');
      expect(await textsOf(member(at.bus, reader('one', { from: 'now' })), 2)).toEqual(['2', '3']);
    });

    test('one that begins with new messages gets none that was there', async () => {
      await putAll('old');
      const item = await gotNew(member(at.bus, reader('one', { from: 'now' })));
      expect(textOf(item.message.payload)).toBe('new');
    });

    test('with one message in flight the order stays, though it comes again', async () => {
      await putAll('1', '2');
      const one = member(at.bus, reader('one'));
      await one.next();
      expect(await textsOf(one, 2)).toEqual(['1', '2']);
    });

    test('one that someone deleted goes on with what it had last', async () => {
      await putAll('old');
      // It goes on by time, to the millisecond.
      await new Promise((resolve) => setTimeout(resolve, 5));
      const one = member(at.bus, reader('one', { from: 'now' }));
      await (await gotNew(one)).ack();
      await at.world.deleteConsumer('T_LOG', 'one');
      await putAll('last');
      const seen = new Set<string>();
      while (!seen.has('last')) for (const text of await textsOf(one, 1)) seen.add(text);
      expect(seen).toEqual(new Set(['new', 'last']));
    });
  });
}
