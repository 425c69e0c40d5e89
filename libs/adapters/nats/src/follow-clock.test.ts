import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type FollowEvent, Stopper } from '@dovetail/core-ports';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { afterEach, expect, test } from 'vitest';

import { connectNats } from './bus.js';

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const spec = {
  name: 'S',
  subjects: ['s.>'],
  keep: 'last',
  maxBytes: 1_000_000,
  duplicateWindowMs: 60_000,
} as const;

const wallClock = Date.now;
afterEach(() => {
  Date.now = wallClock;
});

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('followers under a clock that steps are left out', () =>
    console.warn(`LEFT OUT: followers under a clock that steps: ${server.unavailable}`));
} else {
  // A step back also delays the client library, which times its tries to connect by that clock.
  test('a follower resumes where it was after the wall clock has stepped ten minutes forward', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dovetail-clock-'));
    const nats = await startNats({ path: server.path, dir });
    const bus = connectNats({ servers: [nats.url], name: 'test', log });
    const stop = new Stopper();
    await bus.ensureStreams([spec]);
    await bus.publish({ subject: 's.a', payload: new Uint8Array([1]) });
    const told: string[] = [];
    const of = (event: FollowEvent): string =>
      event.kind === 'message' ? event.message.subject : event.kind;
    for await (const event of bus.follow({ stream: 'S', filters: ['s.>'] }, stop)) {
      told.push(of(event));
      if (event.kind === 'caught-up') {
        Date.now = () => wallClock() + 600_000;
        await nats.restart();
        await bus.publish({ subject: 's.b', payload: new Uint8Array([1]) });
      }
      if (told.at(-1) === 's.b') break;
    }
    stop.abort();
    await bus.close();
    await nats.stop();
    await rm(dir, { recursive: true, force: true });
    expect(told).toEqual(['s.a', 'caught-up', 's.b']);
  });
}
