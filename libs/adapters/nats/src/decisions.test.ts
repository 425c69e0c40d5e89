import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Decision, publishDecision, streamSpecs } from '@dovetail/contracts';
import { freePort, isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { expect, test } from 'vitest';

import { type DecisionEvent, decisions } from './decisions.js';
import { connectNats } from './index.js';

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

test('a program that only reads gets the kept decisions of the kinds it asks for, then caught-up', async () => {
  const nats = await obtainNatsServer();
  if (isUnavailable(nats)) {
    process.stderr.write(`LEFT OUT: reading decisions from NATS, because ${nats.unavailable}\n`);
    return;
  }
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-decisions-'));
  const server = await startNats({ path: nats.path, dir, port: await freePort() });
  const bus = connectNats({ servers: [server.url], name: 'writer', log: silent });
  const stop = new AbortController();
  try {
    await bus.ensureStreams(streamSpecs('lab'));
    const channel = { bus, cluster: 'lab', hash, source: 'test', clock };
    await publishDecision(channel, decision('one', 'launch'));
    await publishDecision(channel, decision('two', 'drain'));
    await publishDecision(channel, decision('three', 'launch'));
    const seen: DecisionEvent[] = [];
    const source = { servers: [server.url], cluster: 'lab', kinds: ['launch'] } as const;
    for await (const event of decisions(source, stop.signal)) {
      seen.push(event);
      if (event.kind === 'caught-up') break;
    }
    expect(
      seen.map((event) => (event.kind === 'decision' ? event.decision.id : event.kind)),
    ).toEqual(['one', 'three', 'caught-up']);
  } finally {
    await bus.close();
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
});
