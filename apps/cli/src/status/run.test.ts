import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { runStatus } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-status-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(kubeconfig: string) {
  let [out, err, last] = ['', '', ''];
  const streams = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    progress: (text: string) => void (last = text),
  };
  const secrets = { natsCredentials: '', natsCa: '', natsCert: '', natsKey: '' };
  const bus = { cluster: 'lab', nats: undefined, secrets };
  const code = await runStatus({ output: 'table', labFirst: false, kubeconfig, bus }, streams);
  return { code, out, err, last };
}

test('a kubeconfig that is not there is named with its remedy', async () =>
  expect(await run(join(folder, 'none'))).toMatchObject({
    code: 69,
    out: '',
    err: expect.stringMatching(/cannot be read \(.*ENOENT.*check --kubeconfig or KUBECONFIG/),
  }));

test('a cluster that does not answer ends the command, and clears the line of progress', async () => {
  const file = join(folder, 'config');
  const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:9' } };
  const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
  const users = [{ name: 'u', user: {} }];
  writeFileSync(
    file,
    JSON.stringify({ clusters: [cluster], contexts: [context], users, 'current-context': 'x' }),
  );
  expect(await run(file)).toMatchObject({
    code: 69,
    out: '',
    err: expect.stringMatching(/right to list/),
    last: '',
  });
});
