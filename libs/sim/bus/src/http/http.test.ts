import { BusError, type Clock, type FollowEvent, type StreamSpec } from '@dovetail/core-ports';
import { afterEach, expect, test } from 'vitest';

import { memoryBus, MemoryBusServer, readBus, serveBus, type ServedBus } from '../index.js';

const clock: Clock = { nowMs: () => 1_700_000_000_000, sleep: () => Promise.resolve() };
const spec: StreamSpec = {
  name: 'TOLD',
  subjects: ['told.>'],
  keep: 'log',
  maxBytes: 1_000_000,
  duplicateWindowMs: 1_000,
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

let served: ServedBus | undefined;
afterEach(() => served?.close());

async function begun(
  port?: number,
): Promise<{ url: string; say(subject: string, text: string): Promise<unknown> }> {
  const server = new MemoryBusServer(clock);
  const bus = memoryBus(server);
  await bus.ensureStreams([spec]);
  served = await serveBus(server, port === undefined ? {} : { port });
  return {
    url: served.url,
    say: (subject, text) => bus.publish({ subject, payload: bytes(text), headers: { of: text } }),
  };
}

const shown = (event: FollowEvent): string =>
  event.kind === 'message'
    ? `${event.message.subject} ${String(event.message.sequence)} ${new TextDecoder().decode(event.message.payload)} ${JSON.stringify(event.message.headers)}`
    : event.kind;

async function next(events: AsyncIterator<FollowEvent>, count: number): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < count) seen.push(shown((await events.next()).value as FollowEvent));
  return seen;
}

test('a follower in another process hears what is kept, that it has caught up, and what comes', async () => {
  const { url, say } = await begun();
  await say('told.a', 'ä\u0000');
  await say('other.a', 'not of the stream').catch(() => undefined);
  const stop = new AbortController();
  const events = readBus(url)
    .follow({ stream: 'TOLD', filters: ['told.>'], from: 'first' }, stop.signal)
    [Symbol.asyncIterator]();
  expect(await next(events, 2)).toEqual(['told.a 1 ä\u0000 {"of":"ä\\u0000"}', 'caught-up']);
  await say('told.b', 'live');
  expect(await next(events, 1)).toEqual(['told.b 2 live {"of":"live"}']);
  stop.abort();
  expect((await events.next()).done).toBe(true);
});

test('a bus that comes back in a new process begins anew, and the follower says so', async () => {
  const { url, say } = await begun();
  await say('told.a', 'before');
  const stop = new AbortController();
  const events = readBus(url)
    .follow({ stream: 'TOLD', filters: ['told.>'], from: 'now' }, stop.signal)
    [Symbol.asyncIterator]();
  expect(await next(events, 1)).toEqual(['caught-up']);
  await served?.close();
  const later = await begun(Number(new URL(url).port));
  await later.say('told.a', 'after');
  const [first, ...others] = await next(events, 3);
  expect(first).toBe('reset');
  // The follower may be back before or after it is published.
  expect(others.toSorted()).toEqual(['caught-up', 'told.a 1 after {"of":"after"}']);
  stop.abort();
});

test('position says where the stream is, and what has no stream is named', async () => {
  const { url, say } = await begun();
  await say('told.a', 'one');
  expect((await readBus(url).position('TOLD')).lastSequence).toBe(1);
  await expect(readBus(url).position('OTHER')).rejects.toMatchObject({ code: 'no-stream' });
});

test('the last message of a subject is read by another process, too', async () => {
  const { url, say } = await begun();
  const reader = readBus(url);
  expect(await reader.lastMessage('TOLD', 'told.a')).toBeUndefined();
  await say('told.a', 'one');
  await say('told.a', 'ä\u0000');
  const last = await reader.lastMessage('TOLD', 'told.a');
  expect(new TextDecoder().decode(last?.payload)).toBe('ä\u0000');
  expect(last).toMatchObject({ subject: 'told.a', sequence: 2 });
  await expect(reader.lastMessage('OTHER', 'told.a')).rejects.toMatchObject({ code: 'no-stream' });
});

test('what only a member of the process could do is refused, with the remedy', async () => {
  const { url } = await begun();
  const reader = readBus(url);
  await expect(reader.publish({ subject: 'told.a', payload: bytes('forged') })).rejects.toThrow(
    /nats-server/,
  );
  await expect(reader.ensureStreams([spec])).rejects.toMatchObject({ code: 'denied' });
  expect((await fetch(`${url}/position?stream=TOLD`, { method: 'POST' })).status).toBe(405);
});

test('a process that is gone is unavailable, not an exception of another kind', async () => {
  const { url } = await begun();
  await served?.close();
  await expect(readBus(url).position('TOLD')).rejects.toBeInstanceOf(BusError);
  await expect(readBus(url).position('TOLD')).rejects.toMatchObject({ code: 'unavailable' });
});
