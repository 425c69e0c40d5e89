import { describe, expect, test } from 'vitest';

import { connectNats } from './bus.js';
import { authenticatorOf, type NatsCredentials } from './options.js';
import { newUserKey } from './user-keys.js';

const { seed } = newUserKey();
const creds = (text: string): string =>
  `-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${text}\n------END USER NKEY SEED------\n`;
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

describe('credentials for NATS', () => {
  test.each([
    ['a seed', { kind: 'nkey', seed }],
    ['a seed with the line break of its file', { kind: 'nkey', seed: `${seed}\n` }],
    ['the text of a .creds file', { kind: 'creds', text: creds(seed) }],
  ] satisfies [string, NatsCredentials][])('%s proves who the client is', (_what, given) =>
    expect(authenticatorOf(given)('nonce')).toMatchObject({ sig: expect.any(String) }),
  );

  test.each([
    ['nothing', { kind: 'nkey', seed: '' }],
    ['a seed with a letter changed', { kind: 'nkey', seed: `${seed.slice(0, -1)}!` }],
    ['the public half', { kind: 'nkey', seed: newUserKey().publicKey }],
    ['a .creds file without a seed', { kind: 'creds', text: creds('') }],
  ] satisfies [string, NatsCredentials][])(
    'a client with %s ends, and does not wait for a server',
    (_what, credentials) =>
      expect(() =>
        connectNats({ servers: ['nats://127.0.0.1:9'], name: 'test', log, credentials }),
      ).toThrow('the key for NATS cannot be read'),
  );
});
