import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createKubeStore, createManualClock, type ServedKube, serveKube } from '@dovetail/sim-kube';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { runExplain } from './run.js';

/**
 * The command in a cluster: two replicas of the reaper run, and a Lease says which one leads. The
 * twin forwards the port of a pod to this machine's loopback address, as a kubelet would.
 */
const explanation = {
  node: 'n1',
  claim: 'c1',
  pool: 'NodePool/default',
  priceMicrosPerHour: 0,
  outcome: 'stays',
  summary: 'it is young',
  answers: [],
};
const leader = 'dovetail-reaper-6d4cf56db6-x7k2p';

let dir = '';
let served: ServedKube;
let store: ReturnType<typeof createKubeStore>;
let reaper: Server;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'dovetail-explain-'));
  store = createKubeStore({ clock: createManualClock(Date.UTC(2026, 0, 1)), seed: 1 });
  served = await serveKube(store);
  writeFileSync(join(dir, 'kubeconfig'), served.kubeconfig);
  reaper = createServer((_request, response) => response.end(JSON.stringify(explanation)));
  await new Promise<void>((resolve) => reaper.listen(0, '127.0.0.1', resolve));
  for (const namespace of ['dovetail', 'other'])
    store.create(store.type('', 'v1', 'namespaces'), { object: { metadata: { name: namespace } } });
});
afterEach(async () => {
  await served.close();
  reaper.closeAllConnections();
  reaper.close();
  rmSync(dir, { recursive: true, force: true });
});

const reaperPort = (): number => (reaper.address() as AddressInfo).port;

function addPod(name: string, { port = reaperPort(), phase = 'Running' } = {}): void {
  const pods = store.type('', 'v1', 'pods');
  store.create(pods, {
    namespace: 'dovetail',
    object: {
      metadata: { name },
      spec: {
        containers: [
          { name: 'reaper', image: 'reaper', ports: [{ name: 'http', containerPort: port }] },
        ],
      },
    },
  });
  store.patch(
    pods,
    { namespace: 'dovetail', name, patch: { type: 'merge', body: { status: { phase } } } },
    { subresource: 'status' },
  );
}

const addLease = (holderIdentity: string, namespace = 'dovetail'): unknown =>
  store.create(store.type('coordination.k8s.io', 'v1', 'leases'), {
    namespace,
    object: { metadata: { name: 'dovetail-reaper' }, spec: { holderIdentity } },
  });

async function run(over: { readonly namespace?: string } = {}) {
  let [out, err] = ['', ''];
  const code = await runExplain(
    { name: 'n1', output: 'table', layout: {}, kubeconfig: join(dir, 'kubeconfig'), ...over },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
    },
  );
  return { code, out, err };
}

test('the replica that leads is asked, through the port that its pod names', async () => {
  addPod('dovetail-reaper-6d4cf56db6-aaaaa', { port: 1 });
  addPod(leader);
  addLease(`${leader}-0123abcd`);
  expect(await run()).toEqual({
    code: 0,
    out: expect.stringMatching(/^n1 \(NodeClaim c1, NodePool\/default\) stays: it is young\n/),
    err: '',
  });
});

test('of two releases, the one of the namespace that is given is asked', async () => {
  addPod(leader);
  addLease(`${leader}-0123abcd`);
  addLease('another-0123abcd', 'other');
  expect(await run()).toMatchObject({ code: 69, err: expect.stringMatching(/--namespace/) });
  expect(await run({ namespace: 'dovetail' })).toMatchObject({ code: 0, err: '' });
});

test.each<[string, () => void, RegExp]>([
  ['without a Lease', () => undefined, /there is no Lease dovetail-reaper\)/],
  ['while none leads', () => addLease(''), /no reaper leads now: Lease dovetail\/dovetail-reaper/],
  [
    'whose leader is no pod',
    () => addLease('reaper-0123abcd'),
    /reaper-0123abcd holds Lease .* there is no pod dovetail\/reaper\)/,
  ],
  [
    'whose leader does not listen',
    () => {
      addPod(leader, { port: 1 });
      addLease(`${leader}-0123abcd`);
    },
    /port 1 of pod dovetail\/dovetail-reaper-6d4cf56db6-x7k2p cannot be reached: .*ECONNREFUSED/,
  ],
  [
    'whose leader does not run yet',
    () => {
      addPod(leader, { phase: 'Pending' });
      addLease(`${leader}-0123abcd`);
    },
    /port \d+ of pod .* cannot be reached: .*400/,
  ],
  [
    'that does not answer',
    () => {
      void served.close();
    },
    /ECONNREFUSED/,
  ],
])('a cluster %s is an error that says so, with the remedy', async (_what, prepare, text) => {
  prepare();
  const { code, out, err } = await run();
  expect({ code, out }).toEqual({ code: 69, out: '' });
  expect(err).toMatch(text);
  expect(err).toMatch(
    /^the leading reaper of the cluster cannot be asked .*--kubeconfig.*--reaper\n$/,
  );
});

test('without a lab and without a kubeconfig, the error names both', async () => {
  for (const name of ['KUBECONFIG', 'KUBERNETES_SERVICE_HOST']) vi.stubEnv(name, '');
  vi.stubEnv('HOME', join(dir, 'empty'));
  // A lab may run in the folder of this repository.
  const before = process.cwd();
  process.chdir(dir);
  let err = '';
  const output = { out: () => undefined, err: (text: string) => void (err += text) };
  expect(await runExplain({ name: 'n1', output: 'table', layout: {} }, output)).toBe(69);
  process.chdir(before);
  vi.unstubAllEnvs();
  expect(err).toMatch(/^no lab runs in this folder, and .* \(no kubeconfig names a cluster\): /);
});
