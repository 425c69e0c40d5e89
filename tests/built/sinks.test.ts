import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  connectNats,
  connectService,
  type NatsBus,
  usersFile,
  writeUsers,
} from '@dovetail/adapter-nats';
import {
  deadLetterSpec,
  type Decision,
  inboxOf,
  publishDecision,
  streamName,
  streamSpecs,
} from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import { isUnavailable, obtainNatsServer, type RunningNats, startNats } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The built sinks as a process, with the rights of their user on a real nats-server, and a real
 * HTTP server as their receiver.
 */
const program = join(import.meta.dirname, '..', '..', 'dist', 'sinks.js');
const nats = await obtainNatsServer();
const cluster = 'lab';
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-sinks-'));

type Received = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** A receiver. `answer` may hold a request: it is answered once it resolves. */
class Receiver {
  readonly received: Received[] = [];
  answer: (request: Received) => Promise<number> | number = () => 200;
  readonly #server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const received = { headers: request.headers, body };
      this.received.push(received);
      void Promise.resolve(this.answer(received)).then((status) =>
        response.writeHead(status, { 'retry-after': '1' }).end('words'),
      );
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const decisionOf = (id: string, over: Partial<Decision> = {}): Decision => ({
  id,
  kind: 'launch',
  atMs: Date.now(),
  source: 'launcher',
  summary: `launched ${id}`,
  objects: [{ kind: 'NodeClaim', name: id }],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A server with the users of the cluster, and what the test does as one of them. */
class GuardedBus {
  server!: RunningNats;

  async start(path: string): Promise<void> {
    await writeUsers(cluster, scratch);
    const users = readFileSync(join(scratch, usersFile), 'utf8');
    const config = `authorization {\n${users}}\n`;
    this.server = await startNats({ path, dir: join(scratch, 'nats'), config });
  }

  as(role: 'launcher' | 'streams'): NatsBus {
    const files = { natsCa: '', natsCert: '', natsKey: '' };
    return connectService(
      role,
      {
        clusterName: cluster,
        replicaName: 'test',
        natsUrl: this.server.url,
        natsReplicas: 1,
        natsCredentials: join(scratch, `${role}.nk`),
        ...files,
      },
      { log },
    );
  }

  /** Anyone who has the reader's seed. */
  reader(): NatsBus {
    const seed = readFileSync(join(scratch, 'reader.nk'), 'utf8');
    return connectNats({
      servers: [this.server.url],
      name: 'reader',
      log,
      credentials: { kind: 'nkey', seed },
      inboxPrefix: inboxOf(cluster, 'reader'),
    });
  }
}

/** The process, its log, and the metrics that it serves. */
class Sinks {
  readonly child: ChildProcess;
  log = '';

  constructor(
    natsUrl: string,
    sinks: readonly object[],
    env: Readonly<Record<string, string>> = {},
  ) {
    const file = join(scratch, 'sinks.json');
    writeFileSync(file, JSON.stringify({ sinks }));
    this.child = spawn(process.execPath, [program], {
      env: {
        CLUSTER_NAME: cluster,
        NATS_URL: natsUrl,
        NATS_CREDENTIALS: join(scratch, 'sinks.nk'),
        SINKS_FILE: file,
        HTTP_PORT: '0',
        HTTP_HOST: '127.0.0.1',
        ...env,
      },
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (chunk) => (this.log += String(chunk)));
  }

  async metrics(): Promise<string> {
    const [, port] = /"port":(\d+)/.exec(this.log) ?? [];
    return (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await ended;
  }
}

const idsOf = ({ received }: Receiver): readonly string[] =>
  received.map(({ body }) => (JSON.parse(body) as { readonly id: string }).id);

if (isUnavailable(nats)) {
  test('the sinks are left out', () =>
    process.stderr.write(`LEFT OUT: the built sinks, because ${nats.unavailable}\n`));
} else {
  describe('the sinks, as a process with the rights of their user', () => {
    const bus = new GuardedBus();
    const open: { close(): unknown }[] = [];
    let launcher: NatsBus;
    let sinks: Sinks | undefined;
    beforeAll(async () => {
      await bus.start(nats.path);
      const maker = bus.as('streams');
      await maker.ensureStreams([...streamSpecs(cluster), deadLetterSpec(cluster)]);
      launcher = bus.as('launcher');
      open.push(maker, launcher);
    }, 60_000);
    afterAll(async () => {
      await sinks?.kill();
      await Promise.all(open.map((each) => each.close()));
      await bus.server.stop();
      rmSync(scratch, { recursive: true, force: true });
    });
    const receiver = async (): Promise<{ readonly at: Receiver; readonly url: string }> => {
      const at = new Receiver();
      open.push(at);
      return { at, url: await at.listen() };
    };
    const decide = async (id: string, over: Partial<Decision> = {}): Promise<void> => {
      const channel = { bus: launcher, cluster, hash: systemHash, source: 'launcher' };
      await publishDecision({ ...channel, clock: systemClock }, decisionOf(id, over));
    };
    const start = async (list: readonly object[], env = {}): Promise<Sinks> => {
      await sinks?.kill();
      sinks = new Sinks(bus.server.url, list, env);
      return sinks;
    };
    const soon = { timeout: 60_000, interval: 50 } as const;

    test('killed after the receiver had a decision and before the bus knew, send it again under its id', async () => {
      const { at, url } = await receiver();
      const list = [{ name: 'killed', from: 'first', webhook: { url } }];
      let held = (): void => undefined;
      at.answer = ({ body }) =>
        body.includes('kill-b') && at.received.length === 2
          ? new Promise((resolve) => (held = () => resolve(200)))
          : 200;
      for (const id of ['kill-a', 'kill-b', 'kill-c']) await decide(id);
      const first = await start(list);
      await expect.poll(() => at.received.length, soon).toBe(2);
      await first.kill();
      held();
      await start(list);
      await expect.poll(() => at.received.length, soon).toBe(4);
      expect(idsOf(at)).toEqual(
        ['kill-a', 'kill-b', 'kill-b', 'kill-c'].map((id) => `decision/${id}`),
      );
    }, 120_000);

    test('one whose receiver is down holds up no other, and catches up in order', async () => {
      const [down, up] = [await receiver(), await receiver()];
      down.at.answer = () => 503;
      const running = await start(
        [
          { name: 'down', webhook: { url: down.url } },
          { name: 'up', slack: { url: { env: 'UP_URL' } }, kinds: ['launch-failed'] },
        ],
        { UP_URL: up.url },
      );
      // Both begin with new decisions: until one comes, nothing tells that the bus knows them.
      const isKnown = async (): Promise<boolean> => {
        await decide(`probe-${String(Math.random())}`, { kind: 'launch-failed' });
        return down.at.received.length > 0 && up.at.received.length > 0;
      };
      await expect.poll(isKnown, soon).toBe(true);
      const price = { priceMicrosPerHour: 272_000 };
      for (const id of ['1', '2'])
        await decide(`failed-${id}`, { kind: 'launch-failed', ...price });
      await expect
        .poll(() => up.at.received.map(({ body }) => body), soon)
        .toContain(JSON.stringify({ text: 'launch-failed (lab): launched failed-2 · $0.2720/h' }));
      expect(running.log).toMatch(/"sink-failing".*it answered 503: words/);
      expect(await running.metrics()).toMatch(
        /^dovetail_sinks_failed_total\{sink="down",reason="again"\} [1-9]/m,
      );
      down.at.answer = () => 200;
      const taken = (): readonly string[] => idsOf(down.at).filter((id) => /failed-/.test(id));
      await expect.poll(taken, soon).toEqual(['decision/failed-1', 'decision/failed-2']);
    }, 120_000);

    test('keep what is refused as a dead letter, with reason and count', async () => {
      const { at, url } = await receiver();
      at.answer = ({ body }) => (body.includes('bad') ? 422 : 200);
      const running = await start([
        { name: 'refused', from: 'first', webhook: { url, mode: 'binary' } },
      ]);
      await decide('bad');
      await decide('good');
      await expect.poll(() => at.received.at(-1)?.body ?? '', soon).toContain('good');
      const reader = bus.reader();
      open.push(reader);
      const stream = streamName(cluster, 'deadletters');
      const subject = 'dovetail.lab.deadletter.v1.refused.launch';
      await expect
        .poll(async () => (await reader.lastMessage(stream, subject))?.headers, soon)
        .toMatchObject({
          'ce-id': 'decision/bad',
          'ce-source': '/dovetail/lab/launcher',
          'ce-type': 'dovetail.v1.Decision.launch',
          'dovetail-sink': 'refused',
          'dovetail-reason': 'it answered 422: words',
          'dovetail-attempts': '1',
        });
      expect(await running.metrics()).toContain(
        'dovetail_sinks_dead_letters_total{sink="refused",reason="refused"} 1',
      );
    }, 120_000);
  });
}

const outcomeOf = (env: Readonly<Record<string, string>>): ReturnType<typeof spawnSync> =>
  spawnSync(process.execPath, [program], {
    env: { CLUSTER_NAME: cluster, ...env },
    encoding: 'utf8',
  });

describe('the sinks do not start', () => {
  test.each([
    [{}, /give either --sinks-file \(or SINKS_FILE\) or --sinks \(or SINKS\)/],
    [{ SINKS: '{}' }, /sinks is missing: give a list with at least one sink/],
    [{ SINKS: '{sinks: []}' }, /sinks is \[\]: give a list with at least one sink/],
    [{ SINKS: '{sinks: [{name: a}]}' }, /sinks\[0\]: give exactly one of webhook, slack, eventBr/],
    [
      { SINKS: '{sinks: [{name: a, webhook: {url: "x"}}]}' },
      /sinks\[0\]\.webhook\.url is "x": give an address with https/,
    ],
    [
      { SINKS: '{sinks: [{name: a, webhook: {url: {env: NONE}}}]}' },
      /sinks\[0\]\.webhook\.url is \{"env":"NONE"\}: give the variable NONE: it is not there/,
    ],
    [
      { SINKS: '{sinks: [{name: a, slack: {url: "https://x.example/"}, kinds: [launched]}]}' },
      /sinks\[0\]\.kinds is \["launched"\]: give one of plan, admit/,
    ],
  ])('with %j', (env, said) => {
    const { status, stdout, stderr } = outcomeOf(env);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toMatch(said);
  });
});
