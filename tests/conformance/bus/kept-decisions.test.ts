import { join } from 'node:path';

import type { NatsBus } from '@dovetail/adapter-nats';
import { type Channel, inboxOf, publishDecision, streamName, subjects } from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import {
  forTests,
  isUnavailable,
  obtainGoProgram,
  obtainNatsServer,
  obtainPythonSubscriber,
  type Program,
  run,
  type Unavailable,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { launchDecision } from './testing/decisions.js';
import { cluster, Guarded } from './testing/guarded.js';

/** A program that reads the stream of decisions with an official client of NATS. */
type Reader = {
  readonly client: string;
  readonly obtain: () => Promise<Program | Unavailable>;
  readonly args: readonly string[];
};

const clients = join(import.meta.dirname, 'clients');
const readers: readonly Reader[] = [
  {
    client: '@nats-io/jetstream',
    obtain: () => Promise.resolve({ path: process.execPath, version: process.version }),
    args: [join(clients, 'kept.mjs')],
  },
  {
    client: 'nats-py',
    obtain: () => forTests(obtainPythonSubscriber),
    args: [join(clients, 'kept.py')],
  },
  {
    client: 'nats.go',
    obtain: () => forTests(() => obtainGoProgram(join(clients, 'go'))),
    args: [],
  },
];

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('clients that read kept decisions are left out', () =>
    console.warn(`LEFT OUT: clients that read kept decisions: ${server.unavailable}`));
} else {
  describe('decisions that are kept are read with the rights of a reader', () => {
    const guarded = new Guarded();
    const kept = ['one', 'two', 'three'];
    let bus: NatsBus | undefined;
    beforeAll(async () => {
      await guarded.start(server.path);
      const launcher = guarded.service('launcher');
      bus = launcher;
      await guarded.makeStreams();
      const source = { cluster, source: 'launcher', clock: systemClock, hash: systemHash };
      const channel: Channel = { bus, ...source };
      for (const id of kept) await publishDecision(channel, launchDecision(id));
    });
    afterAll(async () => {
      await bus?.close();
      await guarded.stop();
    });

    test.each(readers)('by $client, whole and filtered', async ({ client, obtain, args }) => {
      const program = await obtain();
      if (isUnavailable(program))
        return void process.stdout.write(`LEFT OUT: ${client}: ${program.unavailable}\n`);
      const { stdout } = await run(program.path, [...args], {
        deadlineMs: 60_000,
        remedy: 'read its output',
        env: {
          NATS_URL: guarded.nats.url,
          NATS_CREDENTIALS: join(guarded.dir, 'reader.nk'),
          INBOX: inboxOf(cluster, 'reader'),
          STREAM: streamName(cluster, 'decisions'),
          FILTER: subjects.decisionsOfKind(cluster, 'launch'),
          COUNT: String(kept.length),
        },
      });
      const line = (how: string) =>
        `${how} ${subjects.decision(cluster, 'launch', launchDecision('').pool)}\n`;
      expect(stdout).toBe(line('pull').repeat(2 * kept.length) + line('push').repeat(kept.length));
    });
  });
}
