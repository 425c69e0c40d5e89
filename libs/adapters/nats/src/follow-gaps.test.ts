import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type FollowEvent, Stopper } from '@dovetail/core-ports';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { afterEach, expect, test } from 'vitest';

import { connectNats } from './bus.js';
import { follow } from './follow.js';
import { NatsLink } from './link.js';

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const spec = {
  name: 'S',
  subjects: ['s.>'],
  keep: 'last',
  maxBytes: 1_000_000,
  duplicateWindowMs: 60_000,
} as const;

const monotonic = performance.now.bind(performance);
afterEach(() => {
  performance.now = monotonic;
});

/** A link that loses the messages of some subjects, once each, between the client and us. */
class LossyLink extends NatsLink {
  readonly lost = new Set<string>();

  override async connectionUnless(
    ...given: Parameters<NatsLink['connectionUnless']>
  ): Promise<NatsConnection | undefined> {
    const connection = await super.connectionUnless(...given);
    return connection === undefined ? undefined : this.#losing(connection);
  }

  #losing(connection: NatsConnection): NatsConnection {
    type Subscribe = NatsConnection['subscribe'];
    const subscribe: Subscribe = (subject, options = {}) =>
      connection.subscribe(subject, {
        ...options,
        callback: (error, message: Msg) => {
          if (!this.lost.delete(message.subject)) options.callback?.(error, message);
        },
      });
    return new Proxy(connection, {
      get: (target, name) => {
        if (name === 'subscribe') return subscribe;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
  }
}

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('followers that miss messages are left out', () =>
    console.warn(`LEFT OUT: followers that miss messages: ${server.unavailable}`));
} else {
  const stage = async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dovetail-gaps-'));
    const nats = await startNats({ path: server.path, dir });
    const options = { servers: [nats.url], name: 'test', log };
    const bus = connectNats(options);
    const link = new LossyLink(options);
    const stop = new Stopper();
    await bus.ensureStreams([spec]);
    const put = (...subjects: readonly string[]): Promise<unknown> =>
      subjects.reduce<Promise<unknown>>(
        (before, subject) => before.then(() => bus.publish({ subject, payload: new Uint8Array() })),
        Promise.resolve(),
      );
    const deps = { link, log, remake: () => bus.ensureStreams([spec]) };
    const plan = { stream: 'S', filters: ['s.>'], from: 'last-per-subject' } as const;
    const end = async (): Promise<void> => {
      stop.abort();
      await Promise.all([bus.close(), link.close()]);
      await nats.stop();
      await rm(dir, { recursive: true, force: true });
    };
    return { nats, link, put, end, events: follow(deps, plan, stop) };
  };

  /** The events of a follower from the first `caught-up`, at which `then` happens, to `last`. */
  async function toldAfter(
    events: AsyncIterable<FollowEvent>,
    then: () => Promise<unknown>,
    last: string,
  ): Promise<readonly string[]> {
    const told: string[] = [];
    for await (const event of events) {
      told.push(event.kind === 'message' ? event.message.subject : event.kind);
      if (told.at(-1) === 'caught-up' && told.length === 2) await then();
      if (told.length > 2 && told.at(-1) === last) break;
    }
    return told.slice(2);
  }

  test.each([
    ['with the next message', ['s.b', 's.c'], ['s.b', 's.c'], 's.c'],
    ['of the last message with the next heartbeat', ['s.b'], ['s.b'], 's.b'],
  ])('a follower notices the loss %s', async (_when, puts, told, last) => {
    const { link, put, end, events } = await stage();
    await put('s.a');
    link.lost.add('s.b');
    expect(await toldAfter(events, () => put(...puts), last)).toEqual(told);
    await end();
  });

  test('a follower that was away for longer than tombstones are kept reads everything again', async () => {
    const { nats, put, end, events } = await stage();
    await put('s.a');
    const away = async (): Promise<void> => {
      performance.now = () => monotonic() + 600_000;
      await nats.restart();
      await put('s.b');
    };
    const told = await toldAfter(events, away, 'caught-up');
    expect(told).toEqual(['reset', 's.a', 's.b', 'caught-up']);
    await end();
  });
}
