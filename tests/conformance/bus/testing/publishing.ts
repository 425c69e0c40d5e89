import { describe, expect, test } from 'vitest';

import { eventually, mebibyte, type Stage, textOf } from './stage.js';

/** The promises of publishing. */
export function publishing(at: Stage): void {
  const { put } = at;
  describe('publishing', () => {
    test('sequences grow by one and a message id is heard once', async () => {
      const first = await put('t.log.a', '1', { messageId: 'm1' });
      expect(first).toEqual({ stream: 'T_LOG', sequence: 1, duplicate: false });
      expect(await put('t.log.a', '1', { messageId: 'm1' })).toEqual({
        stream: 'T_LOG',
        sequence: 1,
        duplicate: true,
      });
      expect((await put('t.log.a', '2', { messageId: 'm2' })).sequence).toBe(2);
    });
    test('the expected last sequence of a subject guards it', async () => {
      const { sequence } = await put('t.state.a', '1', { expectLastSubjectSequence: 0 });
      await expect(put('t.state.a', '2', { expectLastSubjectSequence: 0 })).rejects.toMatchObject({
        code: 'wrong-last-sequence',
      });
      expect((await put('t.state.a', '2', { expectLastSubjectSequence: sequence })).sequence).toBe(
        sequence + 1,
      );
      expect((await put('t.state.b', '1', { expectLastSubjectSequence: 0 })).duplicate).toBe(false);
    });
    test('a subject of no stream is refused by name', async () => {
      await expect(put('nowhere.a', '1')).rejects.toMatchObject({ code: 'no-stream' });
    });
    test('a payload over a mebibyte is refused', async () => {
      await expect(
        at.bus.publish({ subject: 't.log.a', payload: new Uint8Array(mebibyte + 1) }),
      ).rejects.toMatchObject({ code: 'too-large' });
    });
    test('a full stream of state refuses what is new, and takes what makes it no larger', async () => {
      const large = 'x'.repeat(1_000_000);
      for (let count = 0; count < 16; count += 1) await put(`t.state.${count}`, large);
      const bytes = await at.bus.bytesOf('T_STATE');
      // A real server counts subjects and headers too.
      expect(bytes).toBeGreaterThanOrEqual(16 * large.length);
      expect(bytes).toBeLessThanOrEqual(16 * mebibyte);
      await expect(put('t.state.new', large)).rejects.toMatchObject({ code: 'full' });
      expect((await put('t.state.0', large)).duplicate).toBe(false);
      await put('t.state.0', 'gone');
      expect((await put('t.state.new', large)).duplicate).toBe(false);
    });
    test('the duplicate window outlives a purge, but not the stream', async () => {
      await put('t.state.a', '1', { messageId: 'm' });
      await at.world.purge('T_STATE');
      expect((await put('t.state.a', '1', { messageId: 'm' })).duplicate).toBe(true);
      await at.world.deleteStream('T_STATE');
      expect((await put('t.state.a', '1', { messageId: 'm' })).duplicate).toBe(false);
    });
    test('a message with a time to live leaves the stream', async () => {
      await put('t.state.a', '1', { ttlMs: 1_000 });
      expect(await at.bus.lastMessage('T_STATE', 't.state.a')).toBeDefined();
      await eventually(async () =>
        expect(await at.bus.lastMessage('T_STATE', 't.state.a')).toBeUndefined(),
      );
    });
  });
}

/** Questions to a stream that need no follower. */
export function looking(at: Stage): void {
  const { put } = at;
  describe('looking', () => {
    test('last message, last sequences and position', async () => {
      await put('t.state.a', '1', { headers: { 'ce-id': 'x' } });
      await put('t.state.a', '2', { headers: { 'ce-id': 'y' } });
      await put('t.state.b.c', '3');
      const last = await at.bus.lastMessage('T_STATE', 't.state.a');
      expect(last).toMatchObject({ subject: 't.state.a', sequence: 2, headers: { 'ce-id': 'y' } });
      expect(textOf(last?.payload ?? new Uint8Array())).toBe('2');
      expect(await at.bus.lastMessage('T_STATE', 't.state.none')).toBeUndefined();
      expect(await at.bus.lastSequences('T_STATE', 't.state.>')).toEqual(
        new Map([
          ['t.state.a', 2],
          ['t.state.b.c', 3],
        ]),
      );
      expect(await at.bus.lastSequences('T_STATE', 't.state.*')).toEqual(
        new Map([['t.state.a', 2]]),
      );
      const position = await at.bus.position('T_STATE');
      expect(position.lastSequence).toBe(3);
      await expect(at.bus.position('T_NONE')).rejects.toMatchObject({ code: 'no-stream' });
      await at.world.deleteStream('T_STATE');
      const anew = await at.bus.position('T_STATE');
      expect(anew.lastSequence).toBe(0);
      expect(anew.incarnation).not.toBe(position.incarnation);
    });
  });
}
