import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats, type NatsBus } from '@dovetail/adapter-nats';
import { type Decision, publishDecision, streamName, streamSpecs } from '@dovetail/contracts';
import {
  freePort,
  isUnavailable,
  obtainNatsServer,
  type RunningNats,
  startNats,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type DecisionEvent, decisions, takeDecisions } from './index.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };
const clock = { nowMs: () => 1_700_000_000_000, sleep: () => Promise.resolve() };
const decision = (id: string, kind: Decision['kind']): Decision => ({
  id,
  kind,
  atMs: clock.nowMs(),
  source: 'test',
  summary: id,
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
});

const nats = await obtainNatsServer();
if (isUnavailable(nats)) {
  test('reading decisions is left out', () =>
    process.stderr.write(`LEFT OUT: reading decisions from NATS, because ${nats.unavailable}\n`));
} else {
  describe('a program', () => {
    const dir = mkdtempSync(join(tmpdir(), 'dovetail-decisions-'));
    let server: RunningNats;
    let bus: NatsBus;
    let decide: (id: string, kind: Decision['kind']) => Promise<void>;
    beforeAll(async () => {
      server = await startNats({ path: nats.path, dir, port: await freePort() });
      bus = connectNats({ servers: [server.url], name: 'writer', log: silent });
      await bus.ensureStreams(streamSpecs('lab'));
      const channel = { bus, cluster: 'lab', hash, source: 'test', clock };
      decide = async (id, kind) => void (await publishDecision(channel, decision(id, kind)));
      await decide('one', 'launch');
      await decide('two', 'drain');
      await decide('three', 'launch');
    }, 60_000);
    afterAll(async () => {
      await bus.close();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    test.each([
      [{ kinds: ['launch'] }, ['one', 'three', 'caught-up']],
      [{ from: { sequence: 2 } }, ['two', 'three', 'caught-up']],
      [{ from: { sequence: 99 } }, ['reset', 'one', 'two', 'three', 'caught-up']],
      [{ from: { timeMs: Date.now() + 3_600_000 } }, ['caught-up']],
      [{ from: { timeMs: 0 } }, ['one', 'two', 'three', 'caught-up']],
    ] as const)('that reads %j gets %j', async (asked, expected) => {
      const stop = new AbortController();
      const seen: DecisionEvent[] = [];
      const source = { servers: [server.url], cluster: 'lab', ...asked };
      for await (const event of decisions(source, stop.signal)) {
        seen.push(event);
        if (event.kind === 'caught-up') break;
      }
      expect(
        seen.map((event) => (event.kind === 'decision' ? event.decision.id : event.kind)),
      ).toEqual(expected);
    });

    /** Takes so many launches. Acks those that the function lets it. */
    const take = async (
      count: number,
      mayAck: (seen: readonly string[]) => boolean,
    ): Promise<readonly string[]> => {
      const stop = new AbortController();
      const seen: string[] = [];
      const source = { servers: [server.url], cluster: 'lab', consumer: 'audit', ackWaitMs: 500 };
      for await (const taken of takeDecisions({ ...source, kinds: ['launch'] }, stop.signal)) {
        seen.push(taken.event?.id ?? '');
        if (mayAck(seen)) await taken.ack();
        if (seen.length === count) break;
      }
      return seen;
    };

    test('that takes decisions gets one again that it did not ack', async () =>
      expect(await take(3, (seen) => seen.length !== 2)).toEqual([
        'decision/one',
        'decision/three',
        'decision/three',
      ]));

    test('that starts again goes on where the last one was', async () => {
      await decide('four', 'launch');
      expect(await take(1, () => true)).toEqual(['decision/four']);
      expect((await bus.position(streamName('lab', 'decisions'))).lastSequence).toBe(4);
    });

    test('that gives its consumer no name is told so', async () => {
      const { signal } = new AbortController();
      const taken = takeDecisions({ cluster: 'lab', consumer: 'a.b' }, signal);
      await expect(taken.next()).rejects.toThrow(/consumer is "a\.b": give up to 64 letters/);
    });
  });
}
