import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Log } from '@dovetail/core-ports';
import {
  hasOpenssl,
  isUnavailable,
  makeCertificate,
  obtainNatsServer,
  type RunningNats,
  startNats,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectService, type NatsSettings, secretsOf } from './connect-service.js';

const noFiles = { natsCredentials: '', natsCa: '', natsCert: '', natsKey: '' };

test.each([
  ['NATS_CERT', { natsCert: '/a/tls.crt' }, /NATS_CERT is \/a\/tls.crt, and NATS_KEY is not set/],
  ['NATS_KEY', { natsKey: '/a/tls.key' }, /NATS_KEY is \/a\/tls.key, and NATS_CERT is not set/],
])('%s alone is refused with the name of the other', (_name, given, message) =>
  expect(() => secretsOf(['nats://a'], { ...noFiles, ...given })).toThrow(message),
);

test.each<[string, Partial<typeof noFiles>, object]>([
  ['nats://a:4222', {}, {}],
  ['tls://a:4222', {}, { tls: {} }],
  ['nats://a:4222', { natsCa: '/ca' }, { tls: { caFile: '/ca' } }],
  [
    'nats://a:4222',
    { natsCert: '/crt', natsKey: '/key' },
    { tls: { certFile: '/crt', keyFile: '/key' } },
  ],
])('%s with %j asks for %j', (server, files, expected) =>
  expect(secretsOf([server], { ...noFiles, ...files })).toEqual(expected),
);

const server = await obtainNatsServer();
/** The state that a connection with these settings comes to. */
async function outcome(given: Partial<NatsSettings>): Promise<string> {
  const quiet = (): void => undefined;
  const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const settings = { clusterName: 'lab', replicaName: 'one', natsUrl: '', natsReplicas: 1 };
  const bus = connectService('solver', { ...settings, ...noFiles, ...given }, { log });
  while (bus.state() === 'connecting') await new Promise((resolve) => setTimeout(resolve, 10));
  const state = bus.state();
  await bus.close();
  return state;
}

if (isUnavailable(server) || !hasOpenssl())
  test('TLS is left out', () =>
    console.warn(
      `LEFT OUT: TLS to NATS: ${isUnavailable(server) ? server.unavailable : 'there is no openssl on PATH'}`,
    ));
else
  describe('a server that speaks TLS and asks for certificates', () => {
    const dir = mkdtempSync(join(tmpdir(), 'dovetail-tls-'));
    const file = (name: string): string => join(dir, name);
    let guarded: RunningNats;
    let plain: RunningNats;

    beforeAll(async () => {
      makeCertificate(dir, 'ca');
      makeCertificate(dir, 'stranger');
      makeCertificate(dir, 'nats', 'ca');
      makeCertificate(dir, 'solver', 'ca');
      const tls = { cert_file: 'nats.crt', key_file: 'nats.key', ca_file: 'ca.crt' };
      const lines = Object.entries(tls).map(
        ([key, name]) => `${key}: ${JSON.stringify(file(name))}`,
      );
      const config = `tls {\n${lines.join('\n')}\nverify: true\n}\n`;
      guarded = await startNats({ path: server.path, dir: file('guarded'), config });
      plain = await startNats({ path: server.path, dir: file('plain') });
    });
    afterAll(async () => {
      await Promise.all([guarded.stop(), plain.stop()]);
      rmSync(dir, { recursive: true, force: true });
    });
    const own = { natsCert: file('solver.crt'), natsKey: file('solver.key') };

    test.each<[string, Partial<NatsSettings>, string]>([
      ['its authority and a certificate', { natsCa: file('ca.crt'), ...own }, 'connected'],
      ['its authority and no certificate', { natsCa: file('ca.crt') }, 'unreachable'],
      ['the authority of a stranger', { natsCa: file('stranger.crt'), ...own }, 'unreachable'],
      ['no authority, so that of the system', own, 'unreachable'],
    ])('answers a client with %s: %j', async (_what, given, expected) =>
      expect(
        await outcome({ natsUrl: guarded.url.replace('127.0.0.1', 'localhost'), ...given }),
      ).toBe(expected),
    );

    test.each<[string, (url: string) => Partial<NatsSettings>]>([
      ['an authority', (natsUrl) => ({ natsUrl, natsCa: file('ca.crt') })],
      ['a tls:// address', (url) => ({ natsUrl: url.replace('nats://', 'tls://') })],
    ])('a client with %s sends nothing to a server without TLS', async (_what, given) =>
      expect(await outcome(given(plain.url))).toBe('unreachable'),
    );
  });
