import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as httpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { connectNats } from '@dovetail/adapter-nats';
import { type Decision, publishDecision, streamSpecs } from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { isUnavailable, obtainNatsServer, type RunningNats, startNats } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-silent-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const run = (...args: readonly string[]): Promise<Ended> =>
  ranCommand({ name: 'cli', folder, args });
const portOf = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return String((server.address() as AddressInfo).port);
};

/** A server that takes connections, and never says anything. */
const held = new Set<Socket>();
const silent = createServer((socket) => void held.add(socket.on('error', () => undefined)));
/** An API server of a cluster without any object. */
const empty = httpServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
});

let silentAt = '';
const kubeconfig = join(folder, 'config');
beforeAll(async () => {
  silentAt = `127.0.0.1:${await portOf(silent)}`;
  const cluster = {
    name: 'c',
    cluster: {
      server: `http://127.0.0.1:${await portOf(empty)}`,
      'insecure-skip-tls-verify': true,
    },
  };
  const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
  const users = [{ name: 'u', user: {} }];
  writeFileSync(
    kubeconfig,
    JSON.stringify({ clusters: [cluster], contexts: [context], users, 'current-context': 'x' }),
  );
});
afterAll(() => {
  for (const socket of held) socket.destroy();
  silent.close();
  empty.closeAllConnections();
  empty.close();
});

/** Every command that reads the bus. */
const commands = [
  ['decisions'],
  ['explain', 'pod', 'default/web'],
  ['explain', 'decision', 'plan/1'],
  ['replay', 'plan/1'],
  ['replay', '0'.repeat(32)],
  ['status', '--kubeconfig', kubeconfig],
].map((args) => [args.slice(0, 2).join(' '), args] as const);

describe('a bus that takes the connection and says nothing', () => {
  test.concurrent.each(commands)('ends %s with address, wait and remedy', async (_name, args) =>
    expect(await run(...args, '--nats', `nats://${silentAt}`)).toMatchObject({
      code: 69,
      output: expect.stringMatching(
        new RegExp(`NATS at nats://${silentAt} cannot be reached within 5 s: give its address`),
      ),
    }),
  );

  test.concurrent.each(commands)(
    'ends %s, too, if it is that of a lab without NATS',
    async (_name, args) =>
      expect(await run(...args, '--nats', `http://${silentAt}`)).toMatchObject({
        code: 69,
        output: expect.stringMatching(
          new RegExp(`bus at http://${silentAt} does not answer: no answer within 5 s: give its`),
        ),
      }),
  );

  test.each(['SIGTERM', 'SIGINT'] as const)('lets %s end a follower', async (signal) => {
    const follower = await following(`nats://${silentAt}`, 'waiting for it');
    follower.kill(signal);
    expect(await endOf(follower)).toBe(0);
  });
});

/** The bus of a lab without NATS that stops once a stream has begun. */
const stopping = httpServer((request, response) => {
  if (request.url?.startsWith('/position') === true)
    response.end(JSON.stringify({ incarnation: 'a', firstSequence: 1, lastSequence: 9 }));
  else response.writeHead(200).flushHeaders();
});

describe('a bus that stops while it is read', () => {
  let at = '';
  beforeAll(async () => {
    at = `http://127.0.0.1:${await portOf(stopping)}`;
  });
  afterAll(() => {
    stopping.closeAllConnections();
    stopping.close();
  });

  test.concurrent.each([
    [['decisions'], /the bus at http:\S+ fell silent for 10 s before the last decision: check/],
    [['explain', 'pool', 'a'], /bus at http:\S+ did not give all decisions within 20 s: check/],
    [['replay', 'plan/1'], /bus at http:\S+ did not give all decisions within 20 s: check/],
  ])('ends %j with address, wait and remedy', async (args, text) =>
    expect(await run(...args, '--nats', at)).toMatchObject({
      code: 69,
      output: expect.stringMatching(text),
    }),
  );
});

/** A follower that has said some text. */
async function following(nats: string, said: string): Promise<ChildProcess> {
  const args = ['decisions', '--follow', '-o', 'json', '--nats', nats];
  const follower = spawn(process.execPath, [cli, ...args], { cwd: folder });
  let text = '';
  await new Promise<void>((resolve) => {
    for (const stream of [follower.stdout, follower.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.includes(said)) resolve();
      });
  });
  return follower;
}

const endOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode === null) child.once('exit', resolve);
    else resolve(child.exitCode);
  });

/** So long a slow reader of a pipe takes nothing in. */
const slowMs = 3_000;

const program = await obtainNatsServer();
if (isUnavailable(program))
  process.stdout.write(`LEFT OUT: a nats-server that is stopped: ${program.unavailable}\n`);

describe.runIf(!isUnavailable(program))('a nats-server that is stopped', () => {
  let nats: RunningNats;
  /** More than a pipe takes in at once. */
  const count = 3_000;
  const decision = (id: string): Decision => ({
    id,
    kind: 'plan',
    atMs: 1_700_000_000_000,
    source: 'test',
    summary: `${id} ${'x'.repeat(200)}`,
    objects: [],
    reasons: [],
    alternatives: [],
    facts: {},
  });

  beforeAll(async () => {
    nats = await startNats({ path: isUnavailable(program) ? '' : program.path, dir: folder });
    const bus = connectNats({ servers: [nats.url], name: 'test', log });
    await bus.ensureStreams(streamSpecs('lab'));
    const clock = systemClock;
    const channel = { bus, cluster: 'lab', hash: systemHash, source: 'test', clock };
    for (let at = 0; at < count; at += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          publishDecision(channel, decision(`plan/${String(at + index)}`)),
        ),
      );
    await bus.close();
  });
  afterAll(async () => {
    await nats?.kill('SIGCONT');
    await nats?.stop();
  });

  test('is read to the last line while it runs, though the reader is slow', async () => {
    const args = ['decisions', '-o', 'json', '--nats', nats.url];
    const child = spawn(process.execPath, [cli, ...args], { cwd: folder });
    // A command that ended before all was read would have lost the rest.
    await Promise.race([endOf(child), setTimeout(slowMs)]);
    let text = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk as string;
    expect(await endOf(child)).toBe(0);
    const ids = text.trimEnd().split('\n');
    expect(ids.map((line) => (JSON.parse(line) as Decision).id).at(-1)).toBe(
      `plan/${String(count - 1)}`,
    );
    expect(ids).toHaveLength(count);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('lets %s end a follower', async (signal) => {
    const follower = await following(nats.url, `plan/${String(count - 1)}`);
    await nats.kill('SIGSTOP');
    follower.kill(signal);
    expect(await endOf(follower)).toBe(0);
    await nats.kill('SIGCONT');
  });

  test('ends every command with address, wait and remedy', async () => {
    await nats.kill('SIGSTOP');
    const ended = commands.map(([, args]) => run(...args, '--nats', nats.url));
    for (const one of await Promise.all(ended))
      expect(one).toMatchObject({
        code: 69,
        output: expect.stringMatching(/NATS at nats:\S+ cannot be reached within 5 s: give its/),
      });
  });
});
