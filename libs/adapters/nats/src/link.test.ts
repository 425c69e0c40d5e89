import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Log } from '@dovetail/core-ports';
import { freePort, isUnavailable, obtainNatsServer, startNats } from '@dovetail/testbed';
import { nkeys } from '@nats-io/transport-node';
import { afterEach, expect, test } from 'vitest';

import { connectNats, credentialsOf, type NatsBus, type NatsOptions } from './index.js';
import { deliveryOf } from './message.js';
import { isAtLeast } from './options.js';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function said(): { readonly log: Log; readonly names: string[] } {
  const names: string[] = [];
  const say = (name: string): void => void names.push(name);
  return { names, log: { debug: () => undefined, info: say, warn: say, error: say } };
}
function bus(options: Partial<NatsOptions> & Pick<NatsOptions, 'servers' | 'log'>): NatsBus {
  const made = connectNats({ name: 'test', timeoutMs: 500, ...options });
  open.push(() => made.close());
  return made;
}
async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; !done() && tries < 2_400; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(done()).toBe(true);
}

test.each([
  ['2.15.1', true],
  ['2.11.0', true],
  ['2.10.22', false],
  ['2.9.10', false],
  ['3.0.0-beta.1', true],
  ['', false],
])('a server of version %j is new enough: %j', (version, enough) =>
  expect(isAtLeast(version, '2.11.0')).toBe(enough),
);

test.each([
  [
    '$JS.ACK.S.c.2.30.4.1700000000000000000.5',
    {
      deliveries: 2,
      streamSequence: 30,
      consumerSequence: 4,
      timeMs: 1_700_000_000_000,
      pending: 5,
    },
  ],
  [
    '$JS.ACK.hub.acc.S.c.2.30.4.1700000000000000000.5.r',
    {
      deliveries: 2,
      streamSequence: 30,
      consumerSequence: 4,
      timeMs: 1_700_000_000_000,
      pending: 5,
    },
  ],
  ['_INBOX.x', undefined],
])('the ack subject %s says which delivery it is', (subject, delivery) =>
  expect(deliveryOf(subject)).toEqual(delivery),
);

test('a server that is too old is named and waited for', async () => {
  const sockets = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(
      'INFO {"server_id":"X","version":"2.10.22","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}\r\n',
    );
    socket.on('data', (data) => {
      if (data.toString().includes('PING')) socket.write('PONG\r\n');
    });
  });
  const port = await listening(sockets);
  open.push(() => new Promise((resolve) => sockets.close(resolve)));
  const { log, names } = said();
  const old = bus({ servers: [`nats://127.0.0.1:${String(port)}`], log });
  await until(() => old.state() === 'server-too-old');
  expect(names).toContain('nats-server-too-old');
  await expect(old.publish({ subject: 'a', payload: new Uint8Array() })).rejects.toMatchObject({
    code: 'server-too-old',
  });
});

test('a server that accepts and says nothing is left, and costs no socket for each attempt', async () => {
  const held = new Set<Socket>();
  let attempts = 0;
  const silent = createServer((socket) => {
    attempts += 1;
    held.add(socket.resume().on('error', () => undefined));
    socket.on('close', () => held.delete(socket));
  });
  const port = await listening(silent);
  open.push(() => {
    for (const socket of held) socket.destroy();
    return new Promise((resolve) => silent.close(resolve));
  });
  const { log, names } = said();
  const link = bus({ servers: [`nats://127.0.0.1:${String(port)}`], log, timeoutMs: 50 });
  await until(() => attempts >= 4);
  expect(held.size).toBeLessThanOrEqual(2);
  expect(link.state()).toBe('unreachable');
  expect(names).toContain('nats-unreachable');
  await link.close();
  await until(() => held.size === 0);
});

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });

test('a server that is down at the start is said once and waited for', async () => {
  const program = await obtainNatsServer();
  if (isUnavailable(program))
    return void process.stdout.write(`LEFT OUT: NATS down at start: ${program.unavailable}\n`);
  const port = await freePort();
  const { log, names } = said();
  const early = bus({ servers: [`nats://127.0.0.1:${String(port)}`], log });
  await until(() => early.state() === 'unreachable');
  expect(early.connected()).toBe(false);
  await expect(early.publish({ subject: 'a', payload: new Uint8Array() })).rejects.toMatchObject({
    code: 'unavailable',
  });
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-link-'));
  open.push(() => Promise.resolve(rmSync(dir, { recursive: true, force: true })));
  const nats = await startNats({ path: program.path, dir, port });
  open.push(() => nats.stop());
  await until(() => early.connected());
  expect(names.filter((name) => name === 'nats-unreachable')).toHaveLength(1);
  expect(names).toContain('nats-connected');
});

test('wrong credentials are named and tried again, right ones connect', async () => {
  const program = await obtainNatsServer();
  if (isUnavailable(program))
    return void process.stdout.write(`LEFT OUT: wrong credentials: ${program.unavailable}\n`);
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-link-'));
  open.push(() => Promise.resolve(rmSync(dir, { recursive: true, force: true })));
  const nats = await startNats({
    path: program.path,
    dir,
    config: 'authorization { user: solver, password: right }',
  });
  open.push(() => nats.stop());
  const { log, names } = said();
  const wrong = bus({
    servers: [nats.url],
    log,
    credentials: { kind: 'user', user: 'solver', password: 'wrong' },
  });
  await until(() => wrong.state() === 'denied');
  expect(names).toContain('nats-denied');
  await expect(wrong.position('X')).rejects.toMatchObject({ code: 'denied' });
  const right = bus({
    servers: [nats.url],
    log,
    credentials: { kind: 'user', user: 'solver', password: 'right' },
  });
  await until(() => right.connected());
});

test('credentials that are renewed in their file are used without a restart', async () => {
  const program = await obtainNatsServer();
  if (isUnavailable(program))
    return void process.stdout.write(`LEFT OUT: renewed credentials: ${program.unavailable}\n`);
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-link-'));
  open.push(() => Promise.resolve(rmSync(dir, { recursive: true, force: true })));
  const [old, renewed] = [nkeys.createUser(), nkeys.createUser()];
  const seedOf = (user: typeof old): string => new TextDecoder().decode(user.getSeed());
  const serve = (user: typeof old, port?: number) =>
    startNats({
      path: program.path,
      dir,
      ...(port === undefined ? {} : { port }),
      config: `authorization { users = [ { nkey: ${user.getPublicKey()} } ] }`,
    });
  const file = join(dir, 'solver.nk');
  writeFileSync(file, seedOf(old));
  const first = await serve(old);
  open.push(() => first.stop());
  const { log, names } = said();
  const link = bus({ servers: [first.url], log, ...credentialsOf(file) });
  await until(() => link.connected());
  await first.stop();
  await until(() => !link.connected());
  const second = await serve(renewed, Number(new URL(first.url).port));
  open.push(() => second.stop());
  await until(() => names.includes('nats-denied'));
  expect(link.connected()).toBe(false);
  writeFileSync(file, seedOf(renewed));
  await until(() => link.connected());
});
