import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats, type NatsBus } from '@dovetail/adapter-nats';
import { type Decision, publishDecision, streamSpecs } from '@dovetail/contracts';
import {
  freePort,
  isUnavailable,
  obtainNatsServer,
  type RunningNats,
  startNats,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { DecisionsRequest } from './request.js';
import { runDecisions } from './run.js';

const program = await obtainNatsServer();
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };
const clock = { nowMs: () => Date.now(), sleep: () => Promise.resolve() };

type Written = { out: string; err: string };
const asked = (over: Partial<DecisionsRequest>): DecisionsRequest => ({
  follow: false,
  output: 'json',
  cluster: 'lab',
  nats: undefined,
  secrets: { natsCredentials: '', natsCa: '', natsCert: '', natsKey: '' },
  ...over,
});
const run = async (request: DecisionsRequest): Promise<Written & { readonly code: number }> => {
  const written: Written = { out: '', err: '' };
  const code = await runDecisions(
    request,
    {
      out: (text) => {
        written.out += text;
      },
      err: (text) => {
        written.err += text;
      },
    },
    new AbortController().signal,
  );
  return { ...written, code };
};
const idsIn = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as Decision).id);
async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; !done() && tries < 4_800; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 25));
  expect(done()).toBe(true);
}

if (isUnavailable(program))
  test('decisions over a real NATS server', () =>
    void process.stdout.write(
      `LEFT OUT: decisions over a real NATS server: ${program.unavailable}\n`,
    ));
else
  describe('decisions over a real NATS server', () => {
    const dir = mkdtempSync(join(tmpdir(), 'dovetail-decisions-'));
    let nats: RunningNats;
    let bus: NatsBus;
    const tell = (id: string, over: Partial<Decision> = {}): Promise<unknown> =>
      publishDecision(
        { bus, cluster: 'lab', hash, clock, source: 'launcher' },
        {
          id,
          kind: 'launch',
          atMs: Date.now(),
          source: 'launcher',
          pool: { kind: 'NodePool', name: 'default' },
          summary: `launched ${id}`,
          objects: [],
          reasons: [],
          alternatives: [],
          facts: {},
          ...over,
        },
      );
    beforeAll(async () => {
      nats = await startNats({ path: program.path, dir });
      bus = connectNats({ servers: [nats.url], name: 'test', log });
      await bus.ensureStreams(streamSpecs('lab'));
      await tell('plan-1', { kind: 'plan', priceMicrosPerHour: 616_000 });
      await tell('launch-1', {
        priceMicrosPerHour: 616_000,
        priceEstimated: true,
        claimName: 'default-1',
      });
      await tell('drain-1', { kind: 'drain', pool: { kind: 'NodePool', name: 'gpu' } });
    });
    afterAll(async () => {
      await bus?.close();
      await nats?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    test('all that is kept is shown as a table, oldest first, and the command ends with 0', async () => {
      const { out, err, code } = await run(asked({ nats: nats.url, output: 'table' }));
      expect(
        out
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split(/ {2,}/).slice(1)),
      ).toEqual([
        ['KIND', 'POOL', 'SUMMARY', 'PRICE $/H', 'REASONS'],
        ['plan', 'default', 'launched plan-1', '0.6160', '-'],
        ['launch', 'default', 'launched launch-1', '~0.6160', '-'],
        ['drain', 'gpu', 'launched drain-1', '-', '-'],
      ]);
      expect({ err, code }).toEqual({ err: '', code: 0 });
    });

    test.each<[Partial<DecisionsRequest>, readonly string[]]>([
      [{ kinds: ['launch', 'drain'] }, ['launch-1', 'drain-1']],
      [{ pool: 'gpu' }, ['drain-1']],
      [{ about: 'default-1' }, ['launch-1']],
      [{ kinds: ['collect'] }, []],
      [{ sinceMs: 0 }, []],
    ])('%j shows %j', async (over, ids) =>
      expect(idsIn((await run(asked({ nats: nats.url, ...over }))).out)).toEqual(ids),
    );

    test.each<[Partial<DecisionsRequest>, string]>([
      [{ pool: 'nope' }, '--pool nope'],
      [{ about: 'nope' }, '--about nope'],
      [{ about: 'default-1', pool: 'nope' }, '--about default-1 and --pool nope'],
    ])('%j, which nothing has, is said to match none', async (over, wanted) =>
      expect(await run(asked({ nats: nats.url, ...over }))).toEqual({
        out: '',
        err: `none of the 3 kept decisions matches ${wanted}\n`,
        code: 0,
      }),
    );

    test('--follow goes on with what comes, over a server that is killed and comes back, until it is stopped', async () => {
      const stop = new AbortController();
      const written: Written = { out: '', err: '' };
      const following = runDecisions(
        asked({ nats: nats.url, follow: true, kinds: ['register'] }),
        {
          out: (text) => {
            written.out += text;
          },
          err: (text) => {
            written.err += text;
          },
        },
        stop.signal,
      );
      await tell('register-1', { kind: 'register' });
      await until(() => idsIn(written.out).length === 1);
      await nats.kill('SIGKILL');
      await nats.restart();
      await until(() => bus.connected());
      await tell('register-2', { kind: 'register' });
      await until(() => idsIn(written.out).length === 2);
      stop.abort();
      expect(await following).toBe(0);
      expect(idsIn(written.out)).toEqual(['register-1', 'register-2']);
    });

    test('a cluster of which there are no decisions ends with 69 and says what to look at', async () =>
      expect(await run(asked({ nats: nats.url, cluster: 'elsewhere' }))).toEqual({
        out: '',
        code: 69,
        err: expect.stringMatching(
          /no decisions of a cluster named elsewhere: check that --cluster/,
        ),
      }));
  });

test('a NATS that does not answer is said at once, and ends with 69 after 5 seconds', async () => {
  const { out, err, code } = await run(
    asked({ nats: `nats://127.0.0.1:${String(await freePort())}` }),
  );
  expect({ out, code }).toEqual({ out: '', code: 69 });
  expect(err).toMatch(
    /does not answer .*waiting for it\n.*cannot be reached within 5 s: give its address with --nats or NATS_URL/s,
  );
});

test('credentials that cannot be read end with 64', async () =>
  expect(
    await run(
      asked({
        nats: 'nats://127.0.0.1:1',
        secrets: { natsCredentials: '/nowhere/x.creds', natsCa: '', natsCert: '', natsKey: '' },
      }),
    ),
  ).toEqual({
    out: '',
    code: 64,
    err: expect.stringMatching(/--nats-credentials \/nowhere\/x\.creds: .*give the path/),
  }));
