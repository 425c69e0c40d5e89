import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats } from '@dovetail/adapter-nats';
import {
  type Channel,
  decodeDecision,
  followDecisions,
  publishDecision,
  streamName,
  streamSpecs,
  subjects,
} from '@dovetail/contracts';
import type { Log } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import { isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { connect } from 'nats';
import { expect, test } from 'vitest';

import { launchDecision } from './testing/decisions.js';

const server = await obtainNatsServer();
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

test('decisions are read alike by the client library and by a plain NATS client that knows nothing of ours', async () => {
  if (isUnavailable(server))
    return void process.stdout.write(`LEFT OUT: a plain NATS client: ${server.unavailable}\n`);
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-plain-'));
  const nats = await startNats({ path: server.path, dir });
  const bus = connectNats({ servers: [nats.url], name: 'test', log: quiet });
  const plain = await connect({ servers: nats.url });
  const stop = new AbortController();
  try {
    const channel: Channel = {
      bus,
      cluster: 'lab',
      source: 'launcher',
      clock: systemClock,
      hash: systemHash,
    };
    await bus.ensureStreams(streamSpecs('lab'));
    const live = plain.subscribe(subjects.decisionAll('lab'), { max: 2 });
    // The other connection may be faster than this one's subscription.
    await plain.flush();
    for (const id of ['one', 'two']) await publishDecision(channel, launchDecision(id));

    const heard: string[] = [];
    for await (const message of live)
      heard.push(
        `${message.subject} ${message.headers?.get('ce-type') ?? ''} ${message.headers?.get('ce-id') ?? ''}`,
      );
    expect(heard).toEqual(
      ['one', 'two'].map(
        (id) =>
          `dovetail.lab.decision.v1.launch.default dovetail.v1.Decision.launch decision/${id}`,
      ),
    );

    const consumer = await plain.jetstream().consumers.get(streamName('lab', 'decisions'));
    const kept: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 2, expires: 60_000 })) {
      const read = decodeDecision(message.data);
      kept.push(read.ok ? read.value.summary : read.reason);
    }
    const followed: string[] = [];
    for await (const event of followDecisions(channel, stop.signal)) {
      if (event.kind === 'caught-up') break;
      if (event.kind === 'decision') followed.push(event.decision.summary);
    }
    expect(kept).toEqual(['launched one', 'launched two']);
    expect(followed).toEqual(kept);
  } finally {
    stop.abort();
    await plain.close();
    await bus.close();
    await nats.stop();
    rmSync(dir, { recursive: true, force: true });
  }
});
