import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Stopper } from '@dovetail/core-ports';
import { afterAll, expect, test } from 'vitest';

import { shadowLive } from './live.js';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-shadow-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the command for half a second. */
async function run(kubeconfig: string) {
  let err = '';
  const output = { out: () => undefined, err: (text: string) => (err += text) };
  const request = { catalog: 'us-west-2', output: 'json', consolidation: 'none' } as const;
  const code = await shadowLive(
    { ...request, budgetMs: 0, forMs: 500 },
    kubeconfig,
    output,
    new Stopper(),
  );
  return { code, err };
}

test('without a kubeconfig the command says how to name one', async () => {
  expect(await run(join(folder, 'none'))).toEqual({
    code: 69,
    err: expect.stringMatching(/no cluster to watch \(ENOENT.*--kubeconfig or KUBECONFIG/),
  });
});

test('a cluster that does not answer is waited for', async () => {
  const file = join(folder, 'config');
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const { code, err } = await run(file);
  expect(code).toBe(0);
  expect(err.match(/failed/g)).toEqual(['failed']);
  expect(err).toMatch(/0 launches and 0 ends/);
});
