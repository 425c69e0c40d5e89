import { describe, expect, test } from 'vitest';

import { eventually, type Stage } from './stage.js';

/** The events of a follower whose stream or server fails. */
export function following(at: Stage): void {
  const { put, follow } = at;
  describe('following', () => {
    test('last messages first, then caught-up, then live ones in order', async () => {
      await put('t.state.a', '1');
      await put('t.state.b', '2');
      await put('t.state.a', '3');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      // Each has a subject of its own: of one subject the stream keeps the last alone, and a server
      // that is busy delivers no other.
      for (let index = 0; index < 20; index += 1) await put(`t.state.c.${String(index)}`, 'x');
      const seen = await watcher.until('live', (all) => all.includes('t.state.c.19=x'));
      expect(seen).toEqual([
        't.state.b=2',
        't.state.a=3',
        'caught-up',
        ...Array.from({ length: 20 }, (_, index) => `t.state.c.${String(index)}=x`),
      ]);
      const caughtUp = watcher.events.find((event) => event.kind === 'caught-up');
      expect(caughtUp).toMatchObject({
        position: { lastSequence: 3, incarnation: (await at.bus.position('T_STATE')).incarnation },
      });
    });
    test('an empty stream is caught up at once, and filters are kept', async () => {
      const watcher = follow('T_STATE', ['t.state.a', 't.state.x.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await put('t.state.b', '1');
      await put('t.state.x.y', '2');
      await put('t.state.a', '3');
      expect(await watcher.until('live', (seen) => seen.includes('t.state.a=3'))).toEqual([
        'caught-up',
        't.state.x.y=2',
        't.state.a=3',
      ]);
    });
    test('a log from its first message, and from now on', async () => {
      for (const text of ['1', '2']) await put('t.log.a', text);
      const all = follow('T_LOG', ['t.log.>'], 'first');
      const fresh = follow('T_LOG', ['t.log.>'], 'now');
      await all.until('caught up', (seen) => seen.includes('caught-up'));
      await fresh.until('caught up', (seen) => seen.includes('caught-up'));
      await put('t.log.a', '3');
      expect(await all.until('all', (seen) => seen.includes('t.log.a=3'))).toEqual([
        't.log.a=1',
        't.log.a=2',
        'caught-up',
        't.log.a=3',
      ]);
      expect(await fresh.until('fresh', (seen) => seen.includes('t.log.a=3'))).toEqual([
        'caught-up',
        't.log.a=3',
      ]);
    });
    test('a log from a sequence, and from a time', async () => {
      for (const text of ['1', '2', '3']) await put('t.log.a', text);
      const all = follow('T_LOG', ['t.log.>'], 'first');
      await all.until('caught up', (seen) => seen.includes('caught-up'));
      const [, second] = all.events;
      if (second?.kind !== 'message') throw new Error('the second event is no message');
      const { sequence, timeMs } = second.message;
      const bySequence = follow('T_LOG', ['t.log.>'], { sequence });
      const rest = ['t.log.a=2', 't.log.a=3', 'caught-up'];
      expect(await bySequence.until('the end', (seen) => seen.length >= 3)).toEqual(rest);
      const byTime = follow('T_LOG', ['t.log.>'], { timeMs });
      // Several may have been stored within that millisecond.
      const seen = await byTime.until('the end', (each) => each.includes('caught-up'));
      expect(seen.slice(-3)).toEqual(rest);
      const next = follow('T_LOG', ['t.log.>'], { sequence: sequence + 2 });
      await next.until('caught up', (each) => each.includes('caught-up'));
      await put('t.log.a', '4');
      expect(await next.until('the new one', (each) => each.length >= 2)).toEqual([
        'caught-up',
        't.log.a=4',
      ]);
    });
    test('a log from a sequence that it never had begins with reset, and then all of it', async () => {
      await put('t.log.a', '1');
      const watcher = follow('T_LOG', ['t.log.>'], { sequence: 7 });
      const seen = await watcher.until('the end', (each) => each.includes('caught-up'));
      expect(seen).toEqual(['reset', 't.log.a=1', 'caught-up']);
    });
    test('many last messages come whole', async () => {
      await Promise.all(
        Array.from({ length: 3_000 }, (_, index) =>
          put(`t.state.many.${String(index)}`, 'x'.repeat(500)),
        ),
      );
      const watcher = follow('T_STATE', ['t.state.>']);
      const seen = await watcher.until('all', (events) => events.at(-1) === 'caught-up');
      expect(seen).toHaveLength(3_001);
    });
    test('a purge is a reset, whatever is published after it', async () => {
      await put('t.state.a', '1');
      await put('t.state.b', '1');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await at.world.purge('T_STATE');
      await put('t.state.a', '2');
      const seen = await watcher.until(
        'reset',
        (events) =>
          events.slice(events.indexOf('reset')).includes('caught-up') && events.includes('reset'),
      );
      expect(seen.slice(seen.indexOf('reset'))).toEqual(['reset', 't.state.a=2', 'caught-up']);
    });
    test('messages that end by themselves are no reset', async () => {
      await put('t.state.gone', '1', { ttlMs: 1_000 });
      await put('t.state.a', '1');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      await put('t.state.a', '2');
      expect(await watcher.until('live', (seen) => seen.includes('t.state.a=2'))).not.toContain(
        'reset',
      );
    });
    test('a stream deleted and made anew is a reset, and its successor is followed', async () => {
      await put('t.state.a', '1');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await at.world.deleteStream('T_STATE');
      await put('t.state.b', '2');
      const seen = await watcher.until(
        'anew',
        (events) =>
          events.includes('t.state.b=2') &&
          events.slice(events.indexOf('reset')).includes('caught-up'),
      );
      expect(seen).toEqual(['t.state.a=1', 'caught-up', 'reset', ...seen.slice(3)]);
    });
    test('the successor of a lost stream is followed from its first message, by those from now on too', async () => {
      await put('t.log.a', '1');
      const watcher = follow('T_LOG', ['t.log.>'], 'now');
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await at.world.deleteStream('T_LOG');
      await put('t.log.a', '2');
      const seen = await watcher.until('anew', (events) => events.includes('t.log.a=2'));
      expect(seen).toEqual(['caught-up', 'reset', 't.log.a=2']);
    });
    test('a server that died and came back is followed on, nothing twice and nothing lost', async () => {
      await put('t.state.a', '1');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await at.world.crash();
      await at.world.restart({ wiped: false });
      await eventually(() => put('t.state.b', '2', { messageId: 'b2' }));
      expect(await watcher.until('live', (seen) => seen.includes('t.state.b=2'))).toEqual([
        't.state.a=1',
        'caught-up',
        't.state.b=2',
      ]);
    });
    test('a server that lost its store is a reset', async () => {
      await put('t.state.a', '1');
      const watcher = follow('T_STATE', ['t.state.>']);
      await watcher.until('caught up', (seen) => seen.includes('caught-up'));
      await at.world.crash();
      await at.world.restart({ wiped: true });
      await eventually(() => put('t.state.b', '2', { messageId: 'b2' }));
      const seen = await watcher.until(
        'anew',
        (events) => events.includes('t.state.b=2') && events.includes('reset'),
      );
      expect(seen.slice(0, 3)).toEqual(['t.state.a=1', 'caught-up', 'reset']);
    });
  });
}
