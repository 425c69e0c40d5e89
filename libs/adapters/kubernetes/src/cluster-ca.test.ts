import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { trustedCa } from './cluster-ca.js';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-ca-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const base64 = Buffer.from(pem).toString('base64');
const caFile = join(folder, 'ca.crt');
writeFileSync(caFile, pem);

test.each([
  ['in the file itself', { 'certificate-authority-data': base64 }, base64],
  ['in a file beside it', { 'certificate-authority': caFile }, base64],
  ['nowhere', {}, undefined],
])('the CA of a kubeconfig is found %s', (_where, ca, found) => {
  const path = join(folder, 'config');
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...ca } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(config));
  expect(trustedCa(path)).toBe(found);
});
